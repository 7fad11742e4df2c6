import NIOCore
import Testing

@testable import Outbound

@Suite struct AddressGuardTests {
    private func permits(_ address: String, allowed: [String] = []) throws -> Bool {
        AddressGuard(allowed: allowed.compactMap(AddressBlock.init))
            .permits(try SocketAddress(ipAddress: address, port: 443))
    }

    @Test(arguments: [
        "8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.167.1.1",
        "223.255.255.1",
        "2a00:1450:4001:81b::200a", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
    ])
    func `a public address is permitted`(address: String) throws {
        let permitted = try permits(address)
        #expect(permitted)
    }

    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.254", "127.0.0.1", "127.9.9.9",
        "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.168.1.1", "198.18.0.1",
        "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
        "::", "::1", "fe80::1", "fc00::1", "fd12:3456::1", "ff02::1", "fec0::1", "2001:db8::1", "2001::1",
        "2002:7f00:1::",
        "3fff::1", "100::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::10.0.0.1", "::127.0.0.1",
    ])
    func `an address that is not public is refused`(address: String) throws {
        let permitted = try permits(address)
        #expect(!permitted)
    }

    @Test func `a socket that is a file is refused`() throws {
        let address = try SocketAddress(unixDomainSocketPath: "/run/x")
        #expect(!AddressGuard().permits(address))
    }

    @Test func `the operator's exceptions are permitted and nothing else`() throws {
        let inside = try permits("10.1.2.3", allowed: ["10.1.0.0/16"])
        let mapped = try permits("::ffff:10.1.2.3", allowed: ["10.1.0.0/16"])
        let outside = try permits("10.2.0.1", allowed: ["10.1.0.0/16"])
        let loopback = try permits("::1", allowed: ["::1"])
        #expect(inside && mapped && !outside && loopback)
    }

    @Test(arguments: ["", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/x", "example.com", "10.0.0.0/8/9", "::1/129"])
    func `an invalid block is refused`(text: String) {
        #expect(AddressBlock(text) == nil)
    }
}
