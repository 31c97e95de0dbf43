package foreign

import (
	"os/exec"
	"strings"
	"testing"
)

// mangledNames are some that the library gets wrong, as c++filt has them, and some others.
var mangledNames = map[string]string{
	"_ZSt4swapI4PropENSt9enable_ifIXsr6__and_ISt6__not_ISt15__is_tuple_likeIT_EESt21is_move_constructibleIS4_ESt18is_move_assignableIS4_EEE5valueEvE4typeERS4_SD_":                                 "std::enable_if<__and_<std::__not_<std::__is_tuple_like<Prop> >, std::is_move_constructible<Prop>, std::is_move_assignable<Prop> >::value, void>::type std::swap<Prop>(Prop&, Prop&)",
	"_ZN4llvm10checkedAddIlEENSt9enable_ifIXsr3std9is_signedIT_EE5valueENS_8OptionalIS2_EEE4typeES2_S2_":                                                                                           "std::enable_if<std::is_signed<long>::value, llvm::Optional<long> >::type llvm::checkedAdd<long>(long, long)",
	"_ZN5clang15ASTNodeImporter6importINS_21TemplateParameterListEEENSt11conditionalIXsr3std10is_base_ofINS_4TypeET_EE5valueEN4llvm8ExpectedIPKS5_EENS7_IPS5_EEE4typeESB_":                         "std::conditional<std::is_base_of<clang::Type, clang::TemplateParameterList>::value, llvm::Expected<clang::TemplateParameterList const*>, llvm::Expected<clang::TemplateParameterList*> >::type clang::ASTNodeImporter::import<clang::TemplateParameterList>(clang::TemplateParameterList*)",
	"_ZN16SortedLinkedListI10MallocSiteXadL_Z19compare_malloc_siteRKS0_S2_EELN11ResourceObj15allocation_typeE2EL8MEMFLAGS11ELN17AllocFailStrategy13AllocFailEnumE1EE3addES2_":                      "SortedLinkedList<MallocSite, &(compare_malloc_site(MallocSite const&, MallocSite const&)), (ResourceObj::allocation_type)2, (MEMFLAGS)11, (AllocFailStrategy::AllocFailEnum)1>::add(MallocSite const&)",
	"_ZN14AsyncLogWriter5writeER17ResourceHashtableIP19LogFileStreamOutputjLj17ELN6AnyObj15allocation_typeE1EL6MemTag17EXadL_Z14primitive_hashIS2_EjRKT_EEXadL_Z16primitive_equalsIS2_EbS9_S9_EEE": "AsyncLogWriter::write(ResourceHashtable<LogFileStreamOutput*, unsigned int, 17u, (AnyObj::allocation_type)1, (MemTag)17, &(unsigned int primitive_hash<LogFileStreamOutput*>(LogFileStreamOutput* const&)), &(bool primitive_equals<LogFileStreamOutput*>(LogFileStreamOutput* const&, LogFileStreamOutput* const&))>&)",
	"_ZSt12__get_helperILm0EOiJEERT0_RSt11_Tuple_implIXT_EJS1_DpT1_EE":                                                                                                                             "int& std::__get_helper<0ul, int&&>(std::_Tuple_impl<0ul, int&&>&)",
	"_ZN1PIXadL_ZN1n1fEiEEiE2goEiPS1_": "P<&n::f, int>::go(int, P<&n::f, int>*)",
	"_ZN1aC1Ev":                        "a::a()",
	"_ZN4sr1A3fooEv":                   "sr1A::foo()",
	"main":                             "main",
}

func TestFilter(t *testing.T) {
	for name, want := range mangledNames {
		if got := Demangle(name); got != want {
			t.Errorf("Filter(%s) = %s; want %s", name, got, want)
		}
	}
}

// TestLong: a short name that doubles its length again and again is left as it is.
func TestLong(t *testing.T) {
	name := "_Z1fSt4pairIiiE"
	for i := range 36 {
		id := string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i])
		name += "S_IS" + id + "_S" + id + "_E"
	}
	if got := Demangle(name); got != name {
		t.Errorf("%d bytes, %.100s", len(got), got)
	}
}

// FuzzFilter: a name of a linker is somebody else's text. It ends, within bounds.
func FuzzFilter(f *testing.F) {
	for name := range mangledNames {
		f.Add(name)
	}
	f.Add("_RNvMs0_NtCs5l0EXMQXRMU_21rustc_data_structures17obligation_forestINtB5_16ObligationForestE8map_into")
	f.Add("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.123")
	f.Add("_ZZN1aILi3EE1fEvENKUlvE_clEv.constprop.0")
	f.Fuzz(func(t *testing.T, name string) {
		for _, options := range [][]Option{nil, {NoParams}, {LLVMStyle}} {
			got := Demangle(name, options...)
			if again := Demangle(name, options...); got != again || len(got) >= 1<<maxText && got != name {
				t.Errorf("Filter(%q) = %.100q, then %.100q", name, got, again)
			}
		}
	})
}

// TestAgainstOthers: of the names of libstdc++, those that c++filt and llvm-cxxfilt agree on.
func TestAgainstOthers(t *testing.T) {
	run := func(input, name string, args ...string) []string {
		cmd := exec.Command(name, args...)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(name, err)
		}
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	library := run("", "gcc", "-print-file-name=libstdc++.so.6")[0]
	var all []string
	for _, line := range run("", "nm", "-DP", library) {
		if name, _, _ := strings.Cut(line, "@"); strings.HasPrefix(name, "_Z") && !strings.Contains(name, " ") {
			all = append(all, name)
		}
	}
	text := strings.Join(all, "\n")
	gnu, llvm, agreed := run(text, "c++filt"), run(text, "llvm-cxxfilt"), 0
	for i, name := range all {
		if gnu[i] != llvm[i] {
			continue
		}
		if agreed++; Demangle(name) != gnu[i] {
			t.Errorf("Filter(%s) = %s; want %s", name, Demangle(name), gnu[i])
		}
	}
	if agreed < 4000 {
		t.Errorf("%d of %d names compared", agreed, len(all))
	}
}
