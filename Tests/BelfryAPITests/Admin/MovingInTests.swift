import BelfryCore
import BelfryTesting
import Foundation
import HTTPTypes
import Testing

@testable import BelfryAPI

/// What a service that moves in asks of the admin API.
@Suite struct MovingInTests {
    @Test func `a UUID that any tenant has is a conflict that tells nothing of whose it is`() async throws {
        let server = try await TestAdminServer()
        let theirs = try await server.resources("secretshop")
        for (path, body) in [
            ("apps", #"{"name":"mine","app_uuid":"\#(theirs.application.uuid.lowercased)"}"#),
            (
                "apps/\(theirs.application.uuid.lowercased)/platforms",
                #"{"type":"ios","mode":"production","name":"mine","credentials":{"topic":"a.b"},"platform_uuid":"\#(theirs.platform.uuid.lowercased)"}"#
            ),
        ] {
            let reply = try await server.send(.post, path, body)
            #expect(reply.status == 409, "\(path): \(reply)")
            #expect(!reply.text.contains("secretshop") && reply.message?.contains("taken") == true, "\(reply)")
        }
    }

    @Test func `imported devices that were not seen are listed alone`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let old = UUID()
        _ = try await server.store.importDevices(
            [
                DeviceImport(
                    registration: try Registration(
                        token: DeviceToken(bytes: Array("moved".utf8)), about: Device.About(), customUserID: .clear,
                        topics: .replace([])), uuid: old)
            ], on: resources.platform)
        let devices = "apps/\(resources.application.uuid.lowercased)/devices"
        let unseen = try await server.send(.get, "\(devices)?unseen=true")
        #expect(unseen.text.contains(old.lowercased) && !unseen.text.contains(resources.device.uuid.lowercased))
        let all = try await server.send(.get, devices)
        #expect(all.text.contains(old.lowercased) && all.text.contains(resources.device.uuid.lowercased))
    }

    @Test func `an import tells what came of each row where it is asked to`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let path = "apps/\(resources.application.uuid.lowercased)/imports?format=csv"
        let list = "registration_token\n\(String(repeating: "0a", count: 32))\nno-hex\n"
        let silent = try await server.send(.post, path + "&dry_run=true", list)
        #expect(silent.status == 200 && silent["verdicts"] == nil, "\(silent)")
        let told = try await server.send(.post, path + "&verdicts=true", list)
        guard case .array(let verdicts)? = told["verdicts"] else {
            Issue.record("\(told)")
            return
        }
        #expect(verdicts.map { $0["verdict"]?.stringValue } == ["new", "refused"])
        #expect(verdicts.map { $0["row"] } == [.integer(1), .integer(2)])
    }

    @Test func `a push lists all its devices, or those of one kind of answer, and tells a device's story`() async throws
    {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let push = try await server.store.accept(.sample(77, to: resources.platform))
        let base = "pushes/\(push.receiptID.lowercased)/devices"
        let story = try await server.send(.get, "\(base)/\(resources.device.uuid.lowercased)")
        #expect(story["answer"] == .string("pending") && story["attempts"] == .array([]), "\(story)")
        #expect(story["next"]?.stringValue?.contains("still being looked up") == true)
        try await server.store.park(
            resources.platform.key, Parking(cause: .credentials, detail: "403 Forbidden", since: .zero))
        let parked = try await server.send(.get, "\(base)/\(resources.device.uuid.lowercased)")
        #expect(parked["help"]?.stringValue?.contains("belfry platform credentials") == true, "\(parked)")
        let receipt = try await server.send(.get, "pushes/\(push.receiptID.lowercased)")
        #expect(receipt.text.contains(#""platform_uuid":"\#(resources.platform.uuid.lowercased)""#), "\(receipt)")
        #expect(receipt.text.contains(#""remedy""#) && receipt["unmatched"]?["device_count"] == .integer(0))
        try await server.store.resume(resources.platform.key)
        for fanOut in try await server.store.claimFanOuts(atMost: 9, lanes: Lane.allCases, for: .seconds(60))
        where fanOut.pushKey == push.key {
            let step = FanOutStep(fanOut: fanOut, batches: [[resources.device.key]], isLast: true)
            #expect(try await server.store.advance(step))
        }
        let uuid = resources.device.uuid.lowercased
        #expect(try await server.send(.get, base).text.contains(uuid))
        #expect(try await server.send(.get, "\(base)?answer=pending").text.contains(uuid))
        #expect(try await !server.send(.get, "\(base)?answer=failed").text.contains(uuid))
        #expect(try await server.send(.get, "\(base)/\(UUID().lowercased)").status == 404)
    }
}
