import Testing

@testable import Outbound

/// Hosts that may be named when a proxy connects to them, so that their addresses are never seen.
@Suite struct AddressNamesTests {
    @Test(arguments: [
        "https://updates.push.services.mozilla.com/wpush/v2/x", "https://fcm.googleapis.com:443/fcm/send/x",
        "https://web.push.apple.com/", "https://push.example./x", "https://xn--mnchen-3ya.example/", "https://8.8.8.8/",
        "https://[2606:4700::1111]/", "https://a_b.example/", "https://1and1.example/",
    ])
    func `a public name or address is permitted`(url: String) {
        #expect(AddressGuard().permits(url: url))
    }

    @Test(arguments: [
        // Addresses that are not public, however they are written.
        "https://127.0.0.1/", "https://10.0.0.1:8443/", "https://169.254.169.254/latest", "https://[::1]/",
        "https://[::ffff:10.0.0.1]/", "https://[fd00::1]/", "https://[fe80::1%25eth0]/", "https://127.1/",
        "https://2130706433/", "https://0x7f000001/", "https://0x7f.0.0.1/", "https://0177.0.0.1/",
        "https://127.0.0.1./",
        "https://10.0.0.0x1/", "https://0x/", "https://example.0/",
        // Names of a local network.
        "https://localhost/", "https://LOCALHOST/", "https://localhost./", "https://db.localhost/", "https://printer/",
        "https://printer.local/", "https://metadata.google.internal/", "https://nas.lan/", "https://router.home.arpa/",
        "https://wiki.corp/", "https://a.intranet/", "https://x.onion/",
        // No names.
        "https://", "https:///x", "nonsense", "", "https://a..example/", "https://-%00.example/",
        "https://a%2e.example/",
        "https://münchen%20.example/", "https://user@/",
    ])
    func `private addresses and non-names are refused`(url: String) {
        #expect(!AddressGuard().permits(url: url))
    }

    @Test func `localhost is what its addresses are`() {
        let both = AddressGuard(allowed: ["127.0.0.0/8", "::1"].compactMap(AddressBlock.init))
        let one = AddressGuard(allowed: ["127.0.0.0/8"].compactMap(AddressBlock.init))
        #expect(both.permits(url: "https://localhost:1/"))
        #expect(!one.permits(url: "https://localhost:1/"))
        #expect(one.permits(url: "https://127.0.0.1:1/"))
        #expect(!both.permits(url: "https://printer/"))
    }
}
