import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

@Suite struct AnalyticsTests {
    /// A device on the platform, and a push that it may have got.
    private func prepare() async throws -> (TestMapServer, Device, Push) {
        let server = try await TestMapServer()
        server.clock.advance(to: Instant(milliseconds: 1_500_000_100_000))
        let device = try await server.store.register(.sample(1), as: nil, on: server.fcm)
        return (server, device, try await server.store.accept(.sample(to: server.fcm)))
    }

    private func tell(_ server: TestMapServer, _ events: String...) async throws -> TestAnswer {
        let body = #"{"events":[\#(events.joined(separator: ","))]}"#
        return try await server.send(.post, "/v1/analytics", as: .android, body)
    }

    private func event(_ type: String, _ device: Device, _ push: Push?, at time: String) -> String {
        let receipt = push.map { #""receiptId":"\#($0.receiptID.lowercased)","# } ?? ""
        return #"{\#(receipt)"eventType":"pcf_push_event_type_\#(type)","eventTime":"\#(time)","#
            + #""deviceUuid":"\#(device.uuid.lowercased)","sdkVersion":"2.0.0","platformType":"android","#
            + #""platformUuid":"plat-uuid"}"#
    }

    @Test func `an SDK's batch counts, in seconds and in milliseconds`() async throws {
        let (server, device, push) = try await prepare()
        let reply = try await tell(
            server, event("push_notification_received", device, push, at: "1500000000"),
            event("push_notification_opened", device, push, at: "1500000000123"),
            event("push_notification_opened", device, push, at: "1500000001.500000"),
            event("push_notification_dismissed", device, push, at: "1500000002"),
            event("heartbeat", device, push, at: "1500000101"))
        #expect(reply.status == 200 && reply.text == "{}")
        let counts = try await server.store.counts(of: push.key)
        #expect(counts == [server.fcm.key: [.received: 1, .opened: 2, .dismissed: 1, .heartbeat: 1]])
        let beats = try await server.store.heartbeats(on: server.fcm.key, after: nil, limit: 9)
        #expect(beats.map(\.device) == [device.key] && beats.map(\.latency) == [.seconds(1)])
    }

    /// Source: the iOS SDKs 1.3.3 and 1.4.0.
    @Test func `old iOS SDKs use capital types and another trigger name`() async throws {
        let (server, device, push) = try await prepare()
        let location = try await server.locate()
        let geofence = try await server.fence([location], #","expiry_time":1600000000000"#)
        let opened = event("x", device, push, at: "1500000001.250000")
            .replacing("pcf_push_event_type_x", with: "PCF_PUSH_EVENT_TYPE_PUSH_NOTIFICATION_OPENED")
        let triggered =
            #"{"eventType":"PCF_PUSH_EVENT_TYPE_PUSH_GEOFENCE_LOCATION_TRIGGER","eventTime":"1500000002.5","#
            + #""deviceUuid":"\#(device.uuid)","geofenceId":"\#(geofence)","locationId":"\#(location)"}"#
        let beat = event("x", device, push, at: "1500000003.5")
            .replacing("pcf_push_event_type_x", with: "PCF_PUSH_EVENT_TYPE_HEARTBEAT")
        #expect(try await tell(server, opened, triggered, beat).status == 200)
        #expect(try await server.store.counts(of: push.key) == [server.fcm.key: [.opened: 1, .heartbeat: 1]])
        let triggers = try await server.store.geofenceTriggers(of: server.application.key, after: nil, limit: 9)
        #expect(triggers.map(\.count) == [1])
    }

    @Test func `a batch longer than other bodies is accepted`() async throws {
        let (server, device, push) = try await prepare()
        let event = event("push_notification_received", device, push, at: "1500000000")
        let body = #"{"events":[\#(Array(repeating: event, count: 6_000).joined(separator: ","))]}"#
        #expect(body.utf8.count > PCF.Options().bodyBytesMax)
        #expect(try await server.send(.post, "/v1/analytics", as: .android, body).status == 200)
        #expect(try await server.store.counts(of: push.key)[server.fcm.key] == [.received: 1])
    }

    @Test func `a batch that is sent again counts once`() async throws {
        let (server, device, push) = try await prepare()
        let event = event("push_notification_received", device, push, at: "1500000000")
        for _ in 0..<3 { #expect(try await tell(server, event).status == 200) }
        #expect(try await server.store.counts(of: push.key)[server.fcm.key] == [.received: 1])
    }

    @Test func `a geofence that was triggered is counted at its location`() async throws {
        let (server, device, _) = try await prepare()
        let location = try await server.locate()
        let geofence = try await server.fence([location], #","expiry_time":1600000000000"#)
        let told =
            #"{"eventType":"pcf_push_event_type_geofence_location_triggered","eventTime":"1500000000","#
            + #""deviceUuid":"\#(device.uuid)","geofenceId":"\#(geofence)","locationId":"\#(location)"}"#
        #expect(try await tell(server, told).status == 200)
        let triggers = try await server.store.geofenceTriggers(of: server.application.key, after: nil, limit: 9)
        #expect(triggers.map(\.spot.geofence.rawValue) == [geofence])
        #expect(triggers.map(\.spot.location?.rawValue) == [location])
        #expect(triggers.map(\.count) == [1])
    }

    @Test(arguments: [
        "null", "7", "[]", #""event""#, "{}", #"{"eventType":null}"#, #"{"eventType":{"a":[1,{}]}}"#,
        #"{"eventType":"pcf_push_event_type_push_notification_received"}"#,
        #"{"eventType":"pcf_push_event_type_sent","eventTime":"1500000000","deviceUuid":"DEVICE","receiptId":"RECEIPT"}"#,
        #"{"eventType":"push_notification_received","eventTime":"1500000000","deviceUuid":"DEVICE","receiptId":"RECEIPT"}"#,
        #"{"eventType":"pcf_push_event_type_push_notification_received","eventTime":"today","deviceUuid":"DEVICE","receiptId":"RECEIPT"}"#,
        #"{"eventType":"pcf_push_event_type_push_notification_received","eventTime":"-1","deviceUuid":"DEVICE","receiptId":"RECEIPT"}"#,
        #"{"eventType":"pcf_push_event_type_push_notification_received","eventTime":"1e300","deviceUuid":"DEVICE","receiptId":"RECEIPT"}"#,
        #"{"eventType":"pcf_push_event_type_push_notification_received","eventTime":"1500000000","deviceUuid":"me","receiptId":"RECEIPT"}"#,
        #"{"eventType":"pcf_push_event_type_push_notification_received","eventTime":"1500000000","deviceUuid":"DEVICE","receiptId":"r-1"}"#,
        #"{"eventType":"pcf_push_event_type_push_notification_received","eventTime":"1000000000","deviceUuid":"DEVICE","receiptId":"RECEIPT"}"#,
        #"{"eventType":"pcf_push_event_type_geofence_location_triggered","eventTime":"1500000000","deviceUuid":"DEVICE"}"#,
        #"{"eventType":"pcf_push_event_type_geofence_location_triggered","eventTime":"1500000000","deviceUuid":"DEVICE","geofenceId":"99"}"#,
    ])
    func `an event that cannot be used never fails its batch`(bad: String) async throws {
        let (server, device, push) = try await prepare()
        let bad = bad.replacing("DEVICE", with: device.uuid.lowercased)
            .replacing("RECEIPT", with: push.receiptID.lowercased)
        let reply = try await tell(
            server, bad, event("push_notification_received", device, push, at: "1500000000"), bad)
        #expect(reply.status == 200, "\(reply)")
        #expect(try await server.store.counts(of: push.key)[server.fcm.key] == [.received: 1])
        let all = try await server.store.counts(on: server.fcm.key, from: .zero, until: server.clock.now, by: .day)
        #expect(all.map(\.counts) == [[.received: 1]])
    }

    @Test func `numbers are taken for strings`() async throws {
        let (server, device, push) = try await prepare()
        let event = event("push_notification_received", device, push, at: "0")
            .replacing(#""0""#, with: "1500000000")
        #expect(try await tell(server, event).status == 200)
        #expect(try await server.store.counts(of: push.key)[server.fcm.key] == [.received: 1])
    }

    @Test func `another platform's device counts for nothing`() async throws {
        let (server, device, push) = try await prepare()
        let body = #"{"events":[\#(event("push_notification_received", device, push, at: "1500000000"))]}"#
        #expect(try await server.send(.post, "/v1/analytics", as: .iPhone, body).status == 200)
        #expect(try await server.store.counts(of: push.key).isEmpty)
    }

    @Test func `events beyond the limit of a batch are left out`() throws {
        let event =
            #"{"eventType":"pcf_push_event_type_heartbeat","eventTime":1500000000,"#
            + #""deviceUuid":"8D3A1C5E-0F55-4D8C-9B50-000000000001"}"#
        let count = PCF.AnalyticsRequest.eventsMax + 3
        let events = Array(repeating: event, count: count).joined(separator: ",")
        let request = try PCF.AnalyticsRequest.parse(Array(#"{"x":[],"events":[\#(events)]}"#.utf8))
        #expect(request.events.count == PCF.AnalyticsRequest.eventsMax && request.unusableCount == 3)
    }

    @Test(arguments: [#"{"events":[]}"#, #"{"events":[],"more":{"a":1}}"#])
    func `an empty batch is a batch`(body: String) async throws {
        #expect(try await TestMapServer().send(.post, "/v1/analytics/", as: .iPhone, body).status == 200)
    }

    @Test(arguments: ["", "[]", "{}", #"{"events":{}}"#, #"{"events":["#, #"{"events":null}"#])
    func `a malformed batch is refused`(body: String) async throws {
        #expect(try await TestMapServer().send(.post, "/v1/analytics", as: .iPhone, body).status == 400)
    }
}
