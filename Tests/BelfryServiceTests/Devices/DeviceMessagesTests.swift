import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Requests of an app whose push arrived without its payload, and fields of its registrations beside PCF's.
@Suite struct DeviceMessagesTests {
    /// Claims all that is due, counts, and says that each device was notified.
    private static func deliver(on server: TestServer) async throws {
        for fanOut in try await server.store.claimFanOuts(atMost: 9, lanes: Lane.allCases, for: .seconds(60)) {
            let found = try await server.store.devices(in: fanOut, after: nil, limit: 500)
            _ = try await server.store.advance(
                FanOutStep(fanOut: fanOut, batches: found.isEmpty ? [] : [found], isLast: true))
        }
        let claim = BatchClaim(burstsMax: 9, roomElsewhere: 9, lease: .seconds(60))
        for batch in try await server.store.claimBatches(claim) {
            guard let load = try await server.store.load(batch) else { continue }
            _ = try await server.store.fill([
                FillingRequest(
                    batch: batch, applicationKey: server.application.key, devices: batch.devices,
                    badge: load.push.content.badgeChange(on: load.platform.kind), needs: PersonalizationNeeds([]))
            ])
            let told = Settlement(
                batch: batch, answers: batch.answers.map { _ in .accepted }, retryAt: nil, retryTimes: [:],
                deadTokens: [],
                moves: [], parkRequest: nil)
            _ = try await server.store.settle(told)
        }
    }

    private static func messages(
        of uuid: UUID, on server: TestServer, _ query: String = "", as user: TestServer.User = .iPhone
    ) async throws -> [JSONValue] {
        let reply = try await server.send(.get, "/v1/registration/\(uuid.lowercased)/messages\(query)", as: user)
        #expect(reply.status == 200, "\(reply)")
        guard case .array(let messages)? = reply["messages"] else { return [] }
        return messages
    }

    @Test func `a device gets its own personalized messages, newest first`() async throws {
        let server = try await TestServer()
        let mine = try await server.device(RegistrationTests.token)
        let other = try await server.device(String(repeating: "ab", count: 32))
        let silent = """
            {"message":{"template":true,"custom":{"ios":{"content-available":true,"badge":"+1",
             "extra":{"order":17,"id":"{{device.id}}"}}}},"target":{"platforms":["ios"]}}
            """
        let first = try await server.push(silent)
        _ = try await server.push(#"{"message":{"body":"not yours"},"target":{"devices":["\#(other)"]}}"#)
        let second = try await server.push(#"{"message":{"body":"yours"},"target":{"devices":["\#(mine)"]}}"#)
        #expect(try await Self.messages(of: mine, on: server).isEmpty, "nothing was sent yet")
        try await Self.deliver(on: server)
        let found = try await Self.messages(of: mine, on: server)
        #expect(found.map { $0["receipt_id"] } == [second["receipt_id"], first["receipt_id"]])
        let payload = try #require(found.last?["payload"])
        #expect(payload["order"] == .integer(17) && payload["id"] == .string(mine.lowercased))
        #expect(payload["aps"]?["badge"] == .integer(1))
        #expect(found.first?["payload"]?["aps"]?["alert"] == .string("yours"))
        #expect(try await Self.messages(of: mine, on: server, "?limit=1").count == 1)
        #expect(try await Self.messages(of: other, on: server).count == 2)
    }

    @Test func `only the device's platform may ask, up to a limit`() async throws {
        let server = try await TestServer()
        let mine = try await server.device(RegistrationTests.token)
        let path = "/v1/registration/\(mine.lowercased)/messages"
        #expect(try await server.send(.get, path, as: .android).status == 404)
        #expect(try await server.send(.get, path).status == 401)
        for limit in ["0", "21", "x"] {
            let reply = try await server.send(.get, "\(path)?limit=\(limit)", as: .iPhone)
            #expect(reply.status == 400 && reply.text.contains("has to be 1 to 20"), "\(reply)")
        }
    }

    @Test func `a push that has expired is not told any more`() async throws {
        let server = try await TestServer()
        let mine = try await server.device(RegistrationTests.token)
        _ = try await server.push(
            #"{"message":{"body":"x"},"expiryTime":1000000000001,"target":{"devices":["\#(mine)"]}}"#)
        try await Self.deliver(on: server)
        #expect(try await Self.messages(of: mine, on: server).isEmpty)
    }

    @Test func `a registration sets language and time zone; empty keeps them`() async throws {
        let server = try await TestServer()
        let token = RegistrationTests.token
        _ = try await server.device(token, on: .iPhone, #","language":"de-AT","time_zone":"Europe/Vienna""#)
        let key = try #require(try await server.store.allDevices().first?.key)
        #expect(
            try await server.store.detail(of: key, on: server.ios.key)
                == DeviceDetail(language: "de-AT", timeZone: "Europe/Vienna"))
        _ = try await server.device(token, on: .iPhone, #","language":"","time_zone":null"#)
        _ = try await server.device(token)
        #expect(try await server.store.detail(of: key, on: server.ios.key)?.language == "de-AT")
        let long = String(repeating: "x", count: 65)
        let reply = try await server.register(#"{"registration_token":"\#(token)","language":"\#(long)"}"#)
        #expect(reply.status == 400 && reply.text.contains("language has to be 1 to 64 visible"), "\(reply)")
    }
}
