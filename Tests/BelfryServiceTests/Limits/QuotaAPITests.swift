import BelfryTesting
import Foundation
import HTTPTypes
import Testing

@testable import BelfryService

/// Errors for a caller that has as much as it may have.
@Suite struct QuotaAPITests {
    private func server(_ quotas: Quotas) async throws -> TestServer {
        try await TestServer(over: try SQLiteStore.temporary(clock: StoppedClock(), quotas: quotas))
    }

    @Test func `a device over quota gets a 409 with the setting`() async throws {
        let server = try await server(Quotas([.devices: 1]))
        _ = try await server.device("a", on: .android)
        let reply = try await server.register(#"{"registration_token":"b"}"#, on: .android)
        #expect(reply.status == 409)
        #expect(reply.message == "This application has 1 devices, which is its quota (quota.devices)")
        #expect(reply.headers[.retryAfter] == nil)
        #expect(try await server.register(#"{"registration_token":"a"}"#, on: .android).status == 200)
    }

    @Test func `content over quota gets a 429 with a retry time`() async throws {
        let server = try await server(Quotas([.content: 10]))
        let reply = try await server.push(#"{"message":{"body":"hello"},"target":{"platform":"all"}}"#)
        #expect(reply.status == 429)
        #expect(reply.message == "This application stores 0 MiB of content, its quota is 0 MiB (quota.content.mib)")
        #expect(reply.headers[.retryAfter] == "3600")
    }

    @Test func `a batch with too many tags is a bad request`() async throws {
        let server = try await server(Quotas())
        let tags = (0..<1_000).map { "\"t\($0)\"" }.joined(separator: ",")
        let item = #"{"device_uuid":"\#(UUID().uuidString)","tags":[\#(tags)]}"#
        let body = "[\(Array(repeating: item, count: 33).joined(separator: ","))]"
        let reply = try await server.send(.post, "/v1/tags/batch", as: .sender, body)
        #expect(reply.status == 400)
        #expect(reply.message?.contains("more than 32768 tags altogether") == true)
    }
}

@Suite struct AdminQuotaTests {
    @Test func `an application's quotas are shown with their use`() async throws {
        let server = try await TestAdminServer(quotas: Quotas([.topics: 5]))
        let application = try await server.store.create(.test(OpenVault()))
        let topic = try NewTopic(name: "t", now: server.clock.now)
        _ = try await server.store.create([topic], of: application.key)
        let reply = try await server.send(.get, "apps/\(application.uuid)/quotas")
        #expect(reply.status == 200)
        guard case .array(let quotas)? = reply["quotas"] else { return #expect(Bool(false), "\(reply)") }
        #expect(quotas.count == Quota.allCases.count)
        #expect(
            quotas[1]
                == .object([
                    "quota": .string("topics"), "use": .integer(1), "limit": .integer(5),
                    "setting": .string("quota.topics"),
                ]))
        #expect(quotas[2]["use"] == .null && quotas[0]["limit"] == .null)
        let (shares, holder) = (server.services.shares, ShareHolder(application))
        let leases = try (0..<2).map { _ in try shares.take(.searches, for: holder) }
        #expect(try await server.send(.get, "apps/\(application.uuid)/quotas").status == 429, "rows are counted")
        for lease in leases { lease.end() }
    }
}
