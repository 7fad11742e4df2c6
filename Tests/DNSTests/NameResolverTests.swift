import Foundation
import NIOCore
import Testing

@testable import DNS

@Suite struct NameResolverTests {
    private func withServer(
        limits: NameLimits = NameLimits(), answer: @escaping @Sendable (String) -> [String]?,
        _ body: (NameServer, NameResolver) async throws -> Void
    ) async throws {
        let server = try await NameServer.start(answer: answer)
        let names = NameResolver(servers: [server.address], limits: limits)
        do {
            try await body(server, names)
        } catch {
            names.close()
            try await server.stop()
            throw error
        }
        names.close()
        try await server.stop()
    }

    private func texts(_ answer: Result<[SocketAddress], NameFault>) -> Set<String> {
        Set(((try? answer.get()) ?? []).compactMap(\.ipAddress))
    }

    @Test func `both address families are found in one shared look-up`() async throws {
        try await withServer { _ in
            ["192.0.2.7", "2001:db8::7"]
        } _: { server, names in
            await withTaskGroup(of: Set<String>.self) { group in
                for _ in 0..<20 { group.addTask { texts(await names.addresses(of: "both.example.com")) } }
                for await found in group { #expect(found == ["192.0.2.7", "2001:db8::7"]) }
            }
            #expect(Set(server.asked) == ["both.example.com 1", "both.example.com 28"])
            #expect(server.asked.count == 2)
        }
    }

    @Test func `names that hang delay no other caller`() async throws {
        try await withServer {
            $0.hasPrefix("hangs") ? nil : ["192.0.2.7"]
        } _: { _, names in
            await withTaskGroup(of: Bool.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let caller = NameCaller(.doors, application: 1, tenant: 1)
                        return await names.addresses(of: "hangs\(number).example.com", for: caller)
                            == .failure(.unanswered)
                    }
                }
                for number in 0..<50 {
                    let caller = NameCaller(.doors, application: 2, tenant: 2)
                    let found = await names.addresses(of: "quick\(number).example.com", for: caller)
                    #expect(texts(found) == ["192.0.2.7"])
                }
                var unanswered = 0
                for await isUnanswered in group where isUnanswered { unanswered += 1 }
                #expect(unanswered == 200)
            }
        }
    }

    @Test func `a name without address differs from silent servers`() async throws {
        var limits = NameLimits()
        limits.deadline = .milliseconds(300)
        try await withServer(limits: limits) {
            $0.hasPrefix("hangs") ? nil : []
        } _: { _, names in
            #expect(await names.addresses(of: "nobody.example.com") == .failure(.unknown))
            #expect(await names.addresses(of: "hangs.example.com") == .failure(.unanswered))
        }
    }

    @Test func `the machine's own names are known without a server`() async throws {
        try await withServer { _ in
            []
        } _: { server, names in
            #expect(!texts(await names.addresses(of: "localhost")).isDisjoint(with: ["127.0.0.1", "::1"]))
            #expect(texts(await names.addresses(of: "192.0.2.9")) == ["192.0.2.9"])
            #expect(server.asked.isEmpty)
        }
    }

    @Test func `only names of the configuration are completed by search domains`() async throws {
        try await withServer {
            $0 == "db.internal.example.com" ? ["192.0.2.7"] : []
        } _: { server, _ in
            let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            defer { try? FileManager.default.removeItem(at: file) }
            try Data("search internal.example.com\n".utf8).write(to: file)
            let own = AresConfiguration(servers: [server.address], resolvConf: file.path)
            let names = NameResolver(AresThread(own), NameLimits())
            #expect(await names.addresses(of: "db", for: NameCaller(.doors)) == .failure(.unknown))
            #expect(await names.addresses(of: "db", for: NameCaller(.delivery)) == .failure(.unknown))
            #expect(server.asked.allSatisfy { !$0.hasPrefix("db.internal") })
            #expect(texts(await names.addresses(of: "db", for: NameCaller(.configured))) == ["192.0.2.7"])
            names.close()
        }
    }

    @Test func `a cancelled look-up ends, and a closed resolver answers`() async throws {
        try await withServer { _ in
            nil
        } _: { _, names in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { #expect(await names.addresses(of: "hangs.example.com") == .failure(.unanswered)) }
                group.cancelAll()
            }
            names.close()
            #expect(await names.addresses(of: "late.example.com") == .failure(.unanswered))
        }
    }

    @Test(arguments: ["192.0.2.1", "192.0.2.1:53", "2001:db8::1", "[2001:db8::1]:5353"])
    func `a server is an address`(text: String) { #expect(NameResolver.isServer(text)) }

    @Test(arguments: ["", "dns.example.com", "192.0.2.1:0", "192.0.2.1:99999", "192.0.2:x", "[192.0.2.1]:53"])
    func `a server is nothing else`(text: String) { #expect(!NameResolver.isServer(text)) }
}
