package netconsole

import (
	"fmt"
	"strings"
	"testing"
)

func TestOption(t *testing.T) {
	for _, tt := range []struct {
		option, ip string
		want       Config
	}{
		{"@10.0.2.15/,@10.0.2.2/", "",
			Config{Source: Address{10, 0, 2, 15}, SourcePort: 6665, Destination: Address{10, 0, 2, 2}, DestinationPort: 6666}},
		{"4444@10.0.0.1/eth1,9353@10.0.0.2/12:34:56:78:9a:bc", "", // the example of Linux's documentation
			Config{Source: Address{10, 0, 0, 1}, SourcePort: 4444, Destination: Address{10, 0, 0, 2}, DestinationPort: 9353,
				Fixed: true, Hardware: Hardware{0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc}}},
		{"+1@255.255.255.255/,65535@0.0.0.1/AA:bb:Cc:00:99:fF", "",
			Config{Extended: true, Source: Address{255, 255, 255, 255}, SourcePort: 1, Destination: Address{0, 0, 0, 1}, DestinationPort: 65535,
				Fixed: true, Hardware: Hardware{0xaa, 0xbb, 0xcc, 0, 0x99, 0xff}}},
		{"@/,@192.168.7.1/", "10.1.2.3::10.1.2.1:255.255.255.0",
			Config{Source: Address{10, 1, 2, 3}, SourcePort: 6665, Destination: Address{192, 168, 7, 1}, DestinationPort: 6666,
				Gateway: Address{10, 1, 2, 1}, Mask: Address{255, 255, 255, 0}}},
		{"@/,@1.2.3.4/", "10.1.2.3:::255.0.0.0:name:eth0:off",
			Config{Source: Address{10, 1, 2, 3}, SourcePort: 6665, Destination: Address{1, 2, 3, 4}, DestinationPort: 6666, Mask: Address{255}}},
		{"+r@10.0.0.1/52:54:00:12:34:5F,@10.0.0.2/", "",
			Config{Extended: true, Release: true, Source: Address{10, 0, 0, 1}, SourcePort: 6665, Destination: Address{10, 0, 0, 2}, DestinationPort: 6666,
				Card: Hardware{0x52, 0x54, 0, 0x12, 0x34, 0x5f}}},
		{"@10.0.0.1/,@239.129.2.3/", "",
			Config{Source: Address{10, 0, 0, 1}, SourcePort: 6665, Destination: Address{239, 129, 2, 3}, DestinationPort: 6666,
				Hardware: Hardware{0x01, 0, 0x5e, 1, 2, 3}}},
		{"@/,@1.2.3.4/", "10.1.2.3",
			Config{Source: Address{10, 1, 2, 3}, SourcePort: 6665, Destination: Address{1, 2, 3, 4}, DestinationPort: 6666}},
	} {
		var ip []byte
		if tt.ip != "" {
			ip = []byte(tt.ip)
		}
		wrong, wrongIP := Configure([]byte(tt.option), ip)
		tt.want.On = true
		if !tt.want.Fixed && tt.want.Hardware == (Hardware{}) {
			tt.want.Hardware = Broadcast
		}
		if got := Options(); wrong != "" || wrongIP != "" || got != tt.want {
			t.Errorf("%s with ip=%s: %q, %q, %+v; want %+v", tt.option, tt.ip, wrong, wrongIP, got, tt.want)
		}
	}
}

func TestWrongOption(t *testing.T) {
	for _, tt := range []struct{ option, says string }{
		{"", "want a port"},
		{"on", "want a port"},
		{"0@10.0.2.15/,@10.0.2.2/", "want a port"},
		{"65536@10.0.2.15/,@10.0.2.2/", "want a port"},
		{"6665", "want an @ behind the first port"},
		{"@10.0.2/,@10.0.2.2/", "this machine's address"},
		{"@10.0.2.256/,@10.0.2.2/", "this machine's address"},
		{"@/,@10.0.2.2/", "there is no DHCP here"},
		{"@0.0.0.0/,@10.0.2.2/", "there is no DHCP here"},
		{"@10.0.2.15,@10.0.2.2/", "want a / behind this machine's address"},
		{"@10.0.2.15/eth0", "want a comma"},
		{"r@10.0.2.15/,@10.0.2.2/", "put +r in front"},
		{"r+@10.0.2.15/,@10.0.2.2/", "put +r in front"},
		{"++@10.0.2.15/,@10.0.2.2/", "want a port"},
		{"@10.0.2.15/52:54:00:12:34,@10.0.2.2/", "a card's name, or its hardware address"},
		{"@10.0.2.15/eth0:1,@10.0.2.2/", "a card's name, or its hardware address"},
		{"@10.0.2.15/52:54:00:12:34:56", "want a comma"},
		{"@10.0.2.15/,x@10.0.2.2/", "before the second @"},
		{"@10.0.2.15/,10.0.2.2/", "behind the second port"},
		{"@10.0.2.15/,@/", "the address to send to"},
		{"@10.0.2.15/,@0.0.0.0/", "the address to send to"},
		{"@10.0.2.15/,@10.0.2.2", "want a / behind the address to send to"},
		{"@10.0.2.15/,@10.0.2.2/52:54:00:12:34", "hardware address"},
		{"@10.0.2.15/,@10.0.2.2/52:54:00:12:34:5g", "hardware address"},
		{"@10.0.2.15/,@10.0.2.2/52-54-00-12-34-56", "hardware address"},
		{"@10.0.2.15/,@10.0.2.2/52:54:00:12:34:56:78", "hardware address"},
	} {
		if wrong, _ := Configure([]byte(tt.option), nil); !strings.Contains(wrong, tt.says) || Options().On || Options().Card != (Hardware{}) {
			t.Errorf("netconsole=%s: %q, %+v; want it to say %q, and no card to be chosen", tt.option, wrong, Options(), tt.says)
		}
	}
	for _, tt := range []struct{ option, says string }{
		{"dhcp", "there is no DHCP here"},
		{"", "there is no DHCP here"},
		{"10.0.2.15/24", "want colons"},
		{"10.0.2.15::10.0.2", "the gateway"},
		{"10.0.2.15::10.0.2.1:24", "the netmask"},
		{"10.0.2.15::10.0.2.1:255.0.255.0", "no netmask"},
		{"10.0.2.15::10.0.2.1:255.255.255.0x", "want colons"},
	} {
		if _, wrong := Configure(nil, []byte(tt.option)); !strings.Contains(wrong, tt.says) || !Options().Source.IsZero() {
			t.Errorf("ip=%s: %q, %+v; want it to say %q", tt.option, wrong, Options(), tt.says)
		}
	}
}

func TestToMany(t *testing.T) {
	for _, tt := range []struct {
		ip, to string
		many   bool
	}{
		{"10.1.2.3", "255.255.255.255", true},
		{"10.1.2.3", "224.0.0.1", true},
		{"10.1.2.3", "239.255.255.255", true},
		{"10.1.2.3", "240.0.0.1", false},
		{"10.1.2.3", "10.1.2.255", false}, // nothing says how large the network is
		{"10.1.2.3::10.1.2.1:255.255.255.0", "10.1.2.255", true},
		{"10.1.2.3::10.1.2.1:255.255.255.0", "10.1.3.255", false},
		{"10.1.2.3::10.1.2.1:255.255.0.0", "10.1.2.255", false},
		{"10.1.2.3::10.1.2.1:255.255.0.0", "10.1.255.255", true},
		{"10.1.2.3::10.1.2.2:255.255.255.254", "10.1.2.3", false}, // two machines, no more
		{"10.1.2.3::10.1.2.1:255.255.255.255", "10.1.2.3", false},
	} {
		Configure([]byte("@/,@"+tt.to+"/"), []byte(tt.ip))
		c := Options()
		if got := c.ToMany(c.Destination); got != tt.many {
			t.Errorf("ip=%s: to many at %s: %v; want %v", tt.ip, tt.to, got, tt.many)
		}
		if hop := c.NextHop(c.Destination); tt.many && hop != c.Destination {
			t.Errorf("ip=%s: %s by %v", tt.ip, tt.to, hop)
		}
	}
}

func TestNextHop(t *testing.T) {
	near, far, gateway := Address{10, 1, 2, 9}, Address{10, 1, 3, 9}, Address{10, 1, 2, 1}
	for _, tt := range []struct {
		ip        string
		near, far Address
	}{
		{"10.1.2.3", near, far},
		{"10.1.2.3::10.1.2.1", gateway, gateway},
		{"10.1.2.3::10.1.2.1:255.255.255.0", near, gateway},
		{"10.1.2.3::10.1.2.1:255.255.0.0", near, far},
	} {
		Configure(nil, []byte(tt.ip))
		c := Options()
		if n, f := c.NextHop(near), c.NextHop(far); n != tt.near || f != tt.far {
			t.Errorf("ip=%s: %v by %v, %v by %v; want %v and %v", tt.ip, near, n, far, f, tt.near, tt.far)
		}
	}
}

// FuzzOption: an accepted option can be written again and means the same.
func FuzzOption(f *testing.F) {
	f.Add("@10.0.2.15/,@10.0.2.2/", "")
	f.Add("+4444@10.0.0.1/eth1,9353@10.0.0.2/12:34:56:78:9a:bc", "10.1.2.3::10.1.2.1:255.255.255.0")
	f.Add("@/,@1.2.3.4/", "10.1.2.3:::255.0.0.0:name:eth0:off")
	f.Add("@10.0.2.15/eth0", "dhcp")
	f.Fuzz(func(t *testing.T, option, ip string) {
		wrong, _ := Configure([]byte(option), []byte(ip))
		c := Options()
		if c.On != (wrong == "") {
			t.Fatalf("on: %v, with %q", c.On, wrong)
		}
		if !c.On {
			return
		}
		if c.Source.IsZero() || c.Destination.IsZero() || c.SourcePort == 0 || c.DestinationPort == 0 {
			t.Fatalf("%q, %q: %+v", option, ip, c)
		}
		card := ""
		if h := c.Card; h != (Hardware{}) {
			card = fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", h[0], h[1], h[2], h[3], h[4], h[5])
		}
		again := fmt.Sprintf("%d@%d.%d.%d.%d/%s,%d@%d.%d.%d.%d/", c.SourcePort, c.Source[0], c.Source[1], c.Source[2], c.Source[3], card,
			c.DestinationPort, c.Destination[0], c.Destination[1], c.Destination[2], c.Destination[3])
		if c.Release {
			again = "r" + again
		}
		if c.Extended {
			again = "+" + again
		}
		if c.Fixed {
			h := c.Hardware
			again += fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", h[0], h[1], h[2], h[3], h[4], h[5])
		}
		if wrong, _ := Configure([]byte(again), []byte(ip)); wrong != "" || Options() != c {
			t.Errorf("%q, %q is %+v, but %q is %+v (%s)", option, ip, c, again, Options(), wrong)
		}
	})
}
