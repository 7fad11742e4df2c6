import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Registrations that are sent to an old server too, during a dual run.
@Suite struct MirroredApplicationTests {
    private static let token = String(repeating: "0a", count: 32)

    /// Registers, updates and unregisters a device, and returns what waits for the old server.
    private func calls(where applications: (UUID) -> MirroredApplications) async throws -> [MirrorCall] {
        var server = try await TestServer()
        server.options.mirrored = applications(server.application.uuid)
        let uuid = try await server.device(Self.token).uuidString.lowercased()
        let put = #"{"registration_token":"\#(Self.token)","device_alias":"mine"}"#
        #expect(try await server.send(.put, "/v1/registration/\(uuid)", as: .iPhone, put).status == 200)
        #expect(try await server.send(.delete, "/v1/registration/\(uuid)", as: .iPhone).status == 204)
        let refused = try await server.register(#"{"registration_token":"no hex"}"#)
        #expect(refused.status == 400)
        return try await server.store.mirrorEntries(limit: 9).map(\.call)
    }

    @Test func `a mirrored application gets each registration and each unregistration`()
        async throws
    {
        let named = try await calls { .some([$0]) }
        #expect(named.map(\.method) == [.post, .put, .delete], "what is refused here is told to nobody")
        #expect(String(decoding: named[1].body, as: UTF8.self).contains(#""device_alias":"mine""#))
        #expect(try await calls { _ in .all } == named)
    }

    @Test func `an application that is not named has none kept`() async throws {
        #expect(try await calls { _ in .some([UUID()]) } == [])
        #expect(try await calls { _ in .none } == [])
    }

    @Test func `a registration, its language and its call are one write`() async throws {
        var server = try await TestServer()
        server.options.mirrored = .all
        server.crash(afterWrites: 1)
        let body = #"{"registration_token":"\#(Self.token)","language":"sv"}"#
        #expect(try await server.register(body).status == 200)
        let device = try #require(try await server.store.allDevices().first)
        #expect(try await server.store.detail(of: device.key, on: server.ios.key)?.language == "sv")
        server.crash(afterWrites: 1)
        #expect(try await server.send(.delete, "/v1/registration/\(device.uuid)", as: .iPhone).status == 204)
        #expect(try await server.store.mirrorEntries(limit: 9).map(\.call.method) == [.post, .delete])
    }
}
