import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Devices that wait at their endpoints. The clock stands still unless a test moves it, so a wait that does not end lasts for ever.
@Suite(.timeLimit(.minutes(5))) struct EndpointWaitTests {
    /// A device with an endpoint that it fetches from.
    private struct Phone {
        let rig: WebPushRig
        let device: Device
        let path: String
        let id: Int64

        init(_ rig: WebPushRig, _ name: String = "a", delivery: String = "fetch") async throws {
            self.rig = rig
            device = try await rig.device(.web, name)
            path = try await rig.endpoint(of: device, .web, #"{"delivery":"\#(delivery)"}"#)
            id = try #require(try await rig.store.webPushEndpoints(of: device).last?.key.rawValue)
        }

        func fetch(_ query: String = "?wait=30") async throws -> TestAnswer {
            try await rig.ask(.get, "/\(id)/messages\(query)", of: device, .web)
        }

        func untilWaiting(_ count: Int = 1) async {
            while rig.clock.sleepers < count { await Task.yield() }
        }
    }

    private static let nothing = #"{"messages":[]}"#

    @Test func `a message wakes the device that waits`() async throws {
        let phone = try await Phone(try await WebPushRig())
        async let answer = phone.fetch()
        await phone.untilWaiting()
        #expect(try await phone.rig.post(phone.path, [:], [7, 8]).status == 201)
        #expect(try await answer.text.contains(#""webpush":"Bwg""#))
        #expect(phone.rig.services.shares.used(of: .fetches) == 0)
        #expect(try await phone.fetch().text.contains("Bwg"), "what waits already is answered at once")
    }

    @Test func `a message of another node comes within a second`() async throws {
        let phone = try await Phone(try await WebPushRig())
        async let answer = phone.fetch()
        await phone.untilWaiting()
        let message = try EndpointMessage(WebPushRig.headers(), body: [7, 8])
        #expect(try await phone.rig.store.keep(message, as: UUID(), for: Key(phone.id)))
        phone.rig.clock.advance(by: .seconds(1))
        #expect(try await answer.text.contains("Bwg"))
    }

    @Test func `a wait without a message ends in time`() async throws {
        let phone = try await Phone(try await WebPushRig())
        async let answer = phone.fetch("?wait=2")
        for _ in 0..<2 {
            await phone.untilWaiting()
            phone.rig.clock.advance(by: .seconds(1))
        }
        #expect(try await answer.text == Self.nothing)
        for query in ["", "?wait=0"] { #expect(try await phone.fetch(query).text == Self.nothing) }
    }

    @Test func `a device that waits anew ends its former wait`() async throws {
        let phone = try await Phone(try await WebPushRig())
        async let first = phone.fetch()
        await phone.untilWaiting()
        async let second = phone.fetch()
        #expect(try await first.text == Self.nothing)
        _ = try await phone.rig.post(phone.path, [:], [7, 8])
        #expect(try await second.text.contains("Bwg"))
        #expect(phone.rig.services.shares.used(of: .fetches) == 0)
    }

    @Test func `waits end when the node stops`() async throws {
        let phone = try await Phone(try await WebPushRig())
        async let answer = phone.fetch()
        await phone.untilWaiting()
        phone.rig.services.webPushEndpoints.readers.close()
        #expect(try await answer.text == Self.nothing)
        #expect(try await phone.fetch().text == Self.nothing, "none begins any more")
    }

    /// The server cancels the request of a connection that closes.
    @Test func `a wait ends when its request is cancelled`() async throws {
        let phone = try await Phone(try await WebPushRig())
        let endpoint = try #require(try await phone.rig.store.webPushEndpoints(of: phone.device).first)
        let service = phone.rig.services.webPushEndpoints
        let waiting = Task { try await service.messages(at: endpoint, wait: .seconds(30)) }
        await phone.untilWaiting()
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        #expect(phone.rig.clock.sleepers == 0)
    }

    @Test(arguments: ["31", "-1", "x", "99999999999999999999"])
    func `a wrong wait is refused`(wait: String) async throws {
        let refused = try await Phone(try await WebPushRig()).fetch("?wait=\(wait)")
        #expect(refused.status == 400 && refused.text.contains("0 to 30"), "\(refused)")
    }

    @Test func `an answer leaves before its connection is closed`() {
        #expect(WebPushRoutes.waitMax(within: .seconds(30)) == .seconds(25))
        #expect(WebPushRoutes.waitMax(within: .seconds(600)) == .seconds(30))
    }

    // MARK: Hostile callers

    @Test func `a tenant with all its waits leaves others theirs`() async throws {
        let rig = try await WebPushRig(shares: [.fetches: ShareLimit(perCaller: 2, total: 8)])
        let (one, two, three) = (try await Phone(rig, "1"), try await Phone(rig, "2"), try await Phone(rig, "3"))
        let bystander = try await Phone(try await WebPushRig(beside: rig))
        async let first = one.fetch()
        async let second = two.fetch()
        await one.untilWaiting(2)
        for _ in 0..<5 { #expect(try await three.fetch().text == Self.nothing, "at once, and no error") }
        async let theirs = bystander.fetch()
        await bystander.untilWaiting(3)
        _ = try await rig.post(three.path, [:], [7, 8])
        #expect(try await three.fetch().text.contains("Bwg"), "it gets what there is")
        #expect(rig.clock.sleepers == 3, "a message wakes its own device alone")
        _ = try await rig.post(bystander.path, [:], [7, 8])
        #expect(try await theirs.text.contains("Bwg"))
        rig.services.webPushEndpoints.readers.close()
        let ended = try await [first.text, second.text]
        #expect(ended == [Self.nothing, Self.nothing])
        #expect(rig.services.shares.used(of: .fetches) == 0)
    }

    @Test func `nobody waits where nothing is kept`() async throws {
        let phone = try await Phone(try await WebPushRig(), delivery: "push")
        #expect(try await phone.fetch().text == Self.nothing)
        #expect(phone.rig.clock.sleepers == 0)
    }
}
