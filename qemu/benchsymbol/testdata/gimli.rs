// gimli's addr2line as a command: what the crate can do, with as little around it as there can be.
// It answers each address of its input as `addr2line -afi` does, but knows no symbol table.
use object::{Object, ObjectSection};
use std::io::{BufRead, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let map = unsafe { memmap2::Mmap::map(&std::fs::File::open(path)?)? };
    let file = object::File::parse(&*map)?;
    let sections = gimli::Dwarf::load(|id| -> Result<_, object::Error> {
        file.section_by_name(id.name()).map_or(Ok(Default::default()), |s| s.uncompressed_data())
    })?;
    let dwarf = sections.borrow(|s| gimli::EndianSlice::new(s, gimli::LittleEndian));
    let context = addr2line::Context::from_dwarf(dwarf)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        writeln!(out, "{}", line)?;
        let mut frames = context.find_frames(u64::from_str_radix(line.trim_start_matches("0x"), 16)?)?;
        while let Some(f) = frames.next()? {
            let name = f.function.as_ref().map(|n| n.raw_name()).transpose()?;
            let (at, row) = f.location.map_or(("??", 0), |l| (l.file.unwrap_or("??"), l.line.unwrap_or(0)));
            writeln!(out, "{}\n{}:{}", name.as_deref().unwrap_or("??"), at, row)?;
        }
    }
    Ok(())
}
