import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

@Suite struct WebRegistrationTests {
    @Test func `a browser registers after returning the pushed proof`() async throws {
        let rig = try await WebRig()
        let uuid = try await rig.register("a", #","topics":["news"],"device_model":"Firefox""#)
        let device = try #require(try await rig.store.device(uuid, on: rig.platform.key))
        #expect(device.isActive && device.topics == ["news"] && device.about.model == "Firefox")
    }

    @Test func `without the proof there is no device`() async throws {
        let rig = try await WebRig()
        let body = #"{"subscription":\#(WebRig.subscription("a"))}"#
        #expect(try await rig.send(.post, "/registrations", body).status == 202)
        #expect(try await rig.store.deviceCount(on: rig.platform.key) == 0)
    }

    @Test func `a subscription may be the text of its JSON`() async throws {
        let rig = try await WebRig()
        let text = String(decoding: JSONValue.string(WebRig.subscription("a")).encoded, as: UTF8.self)
        let made = try await rig.send(.post, "/registrations", #"{"subscription":\#(text)}"#)
        #expect(made.status == 202, "\(made)")
        let refused = try await rig.send(.post, "/registrations", #"{"subscription":"none"}"#)
        #expect(refused.status == 400, "\(refused)")
    }

    @Test func `a proof counts for its own subscription, for ten minutes`() async throws {
        let rig = try await WebRig()
        _ = try await rig.send(.post, "/registrations", #"{"subscription":\#(WebRig.subscription("a"))}"#)
        let proof = try #require(rig.service.proofs.last)
        func register(_ name: String, _ proof: String) async throws -> Int {
            let body = #"{"subscription":\#(WebRig.subscription(name)),"proof":"\#(proof)"}"#
            return try await rig.send(.post, "/registrations", body).status
        }
        #expect(try await register("b", proof) == 400)
        #expect(try await register("a", "AAAA") == 400)
        #expect(try await register("a", "") == 400)
        rig.clock.advance(by: .seconds(599))
        #expect(try await register("a", proof) == 200)
        rig.clock.advance(by: .seconds(2))
        #expect(try await register("a", proof) == 400)
    }

    @Test func `a registered browser changes its topics without another proof`() async throws {
        let rig = try await WebRig()
        let uuid = try await rig.register("a", #","topics":["news"]"#)
        let body =
            #"{"subscription":\#(WebRig.subscription("a")),"device_uuid":"\#(uuid)","topics":{"subscribe":["sport"]}}"#
        let answer = try await rig.send(.post, "/registrations", body)
        #expect(answer.status == 200 && rig.service.proofs.count == 1, "\(answer)")
        #expect(try await rig.store.device(uuid, on: rig.platform.key)?.topics.sorted() == ["news", "sport"])
    }

    @Test func `topics of web pages fold case and are checked`() async throws {
        let rig = try await WebRig()
        let uuid = try await rig.register("a", #","topics":["News","Sport"]"#)
        func change(_ topics: String) async throws -> Int {
            let body = #"{"subscription":\#(WebRig.subscription("a")),"device_uuid":"\#(uuid)","topics":\#(topics)}"#
            return try await rig.send(.post, "/registrations", body).status
        }
        #expect(try await rig.store.device(uuid, on: rig.platform.key)?.topics.sorted() == ["news", "sport"])
        #expect(try await change(#"{"unsubscribe":["NEWS"]}"#) == 200)
        #expect(try await rig.store.device(uuid, on: rig.platform.key)?.topics == ["sport"])
        let long = String(repeating: "x", count: 3_000)
        for wrong in [#"[""]"#, #"["\#(long)"]"#, #"["\u0001country\u0001at"]"#] {
            #expect(try await change(wrong) == 400, "\(wrong)")
        }
    }

    @Test func `a new subscription moves the device that names its predecessor`() async throws {
        let rig = try await WebRig()
        let uuid = try await rig.register("a")
        let previous = WebRig.subscription("a")
        #expect(try await rig.register("b", #","device_uuid":"\#(uuid)","previous":\#(previous)"#) == uuid)
        #expect(try await rig.store.device(uuid, on: rig.platform.key)?.token == token("b"))
        let stranger = try await rig.register("c", #","device_uuid":"\#(uuid)""#)
        #expect(stranger != uuid, "a UUID alone is no credential")
        #expect(try await rig.store.device(uuid, on: rig.platform.key)?.token == token("b"))
    }

    @Test func `an inactive browser has to prove itself again`() async throws {
        let rig = try await WebRig()
        let uuid = try await rig.register("a")
        let body = #"{"subscription":\#(WebRig.subscription("a")),"device_uuid":"\#(uuid)"}"#
        #expect(try await rig.send(.post, "/registrations/end", body).status == 204)
        #expect(try await rig.store.device(uuid, on: rig.platform.key)?.isActive == false)
        #expect(try await rig.send(.post, "/registrations", body).status == 202)
        #expect(try await rig.store.device(uuid, on: rig.platform.key)?.isActive == false)
    }

    @Test func `a browser tells its language and time zone`() async throws {
        let rig = try await WebRig(provesRegistrations: false)
        let body = #"{"subscription":\#(WebRig.subscription("a")),"language":"fr","time_zone":"Europe/Paris"}"#
        let answer = try await rig.send(.post, "/registrations", body)
        let uuid = try #require(answer["device_uuid"]?.stringValue.flatMap(UUID.init(uuidString:)), "\(answer)")
        let device = try #require(try await rig.store.device(uuid, on: rig.platform.key))
        #expect(
            try await rig.store.detail(of: device.key, on: rig.platform.key)
                == DeviceDetail(language: "fr", timeZone: "Europe/Paris"))
    }

    @Test func `only whom the subscription is of ends a registration`() async throws {
        let rig = try await WebRig()
        let uuid = try await rig.register("a")
        let body = #"{"subscription":\#(WebRig.subscription("b")),"device_uuid":"\#(uuid)"}"#
        #expect(try await rig.send(.post, "/registrations/end", body).status == 204)
        #expect(try await rig.store.device(uuid, on: rig.platform.key)?.isActive == true)
    }

    @Test func `a page gets an endpoint for its own browser alone`() async throws {
        let rig = try await WebRig()
        let uuid = try await rig.register("a")
        let body = #"{"subscription":\#(WebRig.subscription("a")),"device_uuid":"\#(uuid)"}"#
        #expect(try await rig.send(.post, "/endpoints", body).status == 403, "the application has none")
        try await rig.store.edit(rig.platform.applicationKey, ApplicationEdit(webPush: .on))
        let made = try await rig.send(.post, "/endpoints", body)
        #expect(made.status == 201 && made["path"]?.stringValue?.hasPrefix("/wp/") == true, "\(made)")
        #expect(made.headers[.accessControlAllowOrigin] == WebRig.origin)
        let other = #"{"subscription":\#(WebRig.subscription("b")),"device_uuid":"\#(uuid)"}"#
        #expect(try await rig.send(.post, "/endpoints", other).status == 404)
        for wrong in [#"{"device_uuid":"\#(uuid)"}"#, #"{"subscription":null}"#, #"{"delivery":"fetch"}"#] {
            #expect(try await rig.send(.post, "/endpoints", wrong).status == 400)
        }
        #expect(try await rig.send(.options, "/endpoints").status == 204)
        let device = try #require(try await rig.store.device(uuid, on: rig.platform.key))
        #expect(try await rig.store.webPushEndpoints(of: device).count == 1)
    }

    @Test func `a page keeps its endpoint until that is revoked`() async throws {
        let rig = try await WebRig()
        try await rig.store.edit(rig.platform.applicationKey, ApplicationEdit(webPush: .on))
        let uuid = try await rig.register("a")
        let body = #"{"subscription":\#(WebRig.subscription("a")),"device_uuid":"\#(uuid)""#
        let path = try #require(try await rig.send(.post, "/endpoints", body + "}")["path"]?.stringValue)
        let known = #","path":"\#(path)"}"#
        let kept = try await rig.send(.post, "/endpoints", body + known)
        #expect(kept.status == 200 && kept["path"] == .string(path), "\(kept)")
        let other = try await rig.register("b")
        let strange = #"{"subscription":\#(WebRig.subscription("b")),"device_uuid":"\#(other)""# + known
        #expect(try await rig.send(.post, "/endpoints", strange).status == 201, "it is another browser's")
        let device = try #require(try await rig.store.device(uuid, on: rig.platform.key))
        let endpoint = try #require(try await rig.store.webPushEndpoints(of: device).first)
        #expect(try await rig.store.delete(endpoint.key, of: device))
        let again = try await rig.send(.post, "/endpoints", body + known)
        #expect(again.status == 201 && again["path"] != .string(path), "\(again)")
    }

    @Test func `a browser registers at once where proofs are off`() async throws {
        let rig = try await WebRig(provesRegistrations: false)
        let answer = try await rig.send(.post, "/registrations", #"{"subscription":\#(WebRig.subscription("a"))}"#)
        #expect(answer.status == 200 && rig.service.proofs.isEmpty, "\(answer)")
    }

    @Test(arguments: [
        (Outcome.gone(since: nil), 422), (.refused(.badToken), 422), (.unanswered, 503),
        (.throttled(retryAfter: nil), 503), (.credentialsRefused("no"), 503),
    ])
    func `a page hears the push service's answer to the proof`(outcome: Outcome, status: Int) async throws {
        let rig = try await WebRig()
        rig.service.answer(outcome)
        let answer = try await rig.send(.post, "/registrations", #"{"subscription":\#(WebRig.subscription("a"))}"#)
        #expect(answer.status == status, "\(answer)")
        #expect(answer.headers[.accessControlAllowOrigin] == WebRig.origin, "a page has to be able to read it")
    }

    @Test func `foreign, missing or mismatched origins and keys are refused`() async throws {
        let rig = try await WebRig()
        let body = #"{"subscription":\#(WebRig.subscription("a"))}"#
        func expect(_ status: Int, origin: String? = WebRig.origin, key: String? = nil) async throws {
            let answer = try await rig.send(.post, "/registrations", body, origin: origin, key: key)
            #expect(answer.status == status, "\(answer)")
            #expect(answer.headers[.accessControlAllowOrigin] == "*", "a page has to be able to read it")
        }
        for origin in ["https://evil.example", "https://shop.example.evil.example", "null", nil] {
            try await expect(403, origin: origin)
        }
        try await expect(404, key: RegistrationKey(for: rig.platform.uuid, random: UUID()).text)
        try await rig.store.setWebAccess(of: rig.platform.key, to: nil)
        try await expect(404)
        #expect(rig.service.proofs.isEmpty)
    }

    @Test func `a page reads how long to wait`() async throws {
        let rig = try await WebRig()
        let limiter = RequestLimiter(
            options: RequestLimiter.Options(limits: [.browsers: RateLimit(perSecond: 1, burst: 1)]), clock: rig.clock)
        #expect(try await rig.send(.get, limiter: limiter).headers[.accessControlAllowOrigin] == WebRig.origin)
        let answer = try await rig.send(.get, limiter: limiter)
        #expect(answer.status == 429 && answer.headers[.retryAfter] != nil, "\(answer)")
        #expect(answer.headers[.accessControlAllowOrigin] == "*")
        #expect(answer.headers[.accessControlExposeHeaders] == "retry-after")
    }

    @Test func `a browser's preflight learns what a page may do`() async throws {
        let rig = try await WebRig()
        let answer = try await rig.send(.options, "/registrations")
        #expect(answer.status == 204)
        #expect(answer.headers[.accessControlAllowOrigin] == WebRig.origin)
        #expect(answer.headers[.accessControlAllowMethods] == "POST")
        #expect(answer.headers[.accessControlAllowHeaders] == "content-type")
        #expect(answer.headers[.vary] == "Origin")
        #expect(try await rig.send(.options, "/registrations", origin: "https://evil.example").status == 403)
    }

    @Test func `the public part is the VAPID key and proof switch`() async throws {
        let answer = try await WebRig().send(.get)
        #expect(answer["vapid_public_key"] == .string("BKey") && answer["proof"] == .bool(true), "\(answer)")
        #expect(answer.headers[.cacheControl] == "no-cache")
    }

    @Test(arguments: [
        #"{}"#, #"{"subscription":7}"#, #"{"subscription":{"endpoint":"http://push.example/a"}}"#, "[", "{}{}",
        #"{"subscription":SUBSCRIPTION,"unheard_of":1}"#, #"{"subscription":SUBSCRIPTION,"topics":TOPICS}"#,
        #"{"subscription":SUBSCRIPTION,"topics":{"subscribe":TOPICS}}"#,
        #"{"subscription":SUBSCRIPTION,"topics":{"add":[]}}"#, #"{"subscription":SUBSCRIPTION,"os":7}"#,
    ])
    func `an invalid subscription is refused and nothing is pushed`(body: String) async throws {
        let rig = try await WebRig()
        let topics = "[" + (0...64).map { #""t\#($0)""# }.joined(separator: ",") + "]"
        let filled = body.replacing("SUBSCRIPTION", with: WebRig.subscription("a")).replacing("TOPICS", with: topics)
        let answer = try await rig.send(.post, "/registrations", filled)
        #expect(answer.status == 400, "\(answer)")
        #expect(rig.service.proofs.isEmpty)
    }

    @Test func `a body beyond 16 KiB is not read`() async throws {
        let body = #"{"subscription":"\#(String(repeating: "x", count: 17 << 10))"}"#
        #expect(try await WebRig().send(.post, "/registrations", body).status == 413)
    }

    @Test func `browser events count once, and unusable ones are dropped`() async throws {
        let rig = try await WebRig()
        let uuid = try await rig.register("a")
        let application = rig.platform.applicationKey
        let push = try await rig.store.accept(
            NewPush(
                receiptID: UUID(), applicationKey: application, content: Push.Content(body: "x"),
                audience: .list(.active), platformKeys: [rig.platform.key], lane: .normal))
        let event = #"{"type":"opened","receipt_id":"\#(push.receiptID)","time":\#(rig.clock.now.milliseconds)}"#
        let dismissed = event.replacing("opened", with: "dismissed")
        let unheard = event.replacing("opened", with: "clicked")
        let junk = #"{},{"type":"dismissed"},\#(unheard),{"type":"opened","receipt_id":"x","time":1}"#
        for _ in 0..<2 {
            let body = #"{"device_uuid":"\#(uuid)","events":[\#(event),\#(dismissed),\#(junk)]}"#
            #expect(try await rig.send(.post, "/events", body).status == 204)
        }
        let counts = try await rig.store.counts(of: push.key)
        #expect(counts == [rig.platform.key: [.opened: 1, .dismissed: 1]])
        let many = Array(repeating: event, count: 101).joined(separator: ",")
        let answer = try await rig.send(.post, "/events", #"{"device_uuid":"\#(uuid)","events":[\#(many)]}"#)
        #expect(answer.status == 400, "\(answer)")
    }

    private func token(_ name: String) throws -> DeviceToken { try DeviceToken(WebRig.subscription(name), for: .web) }
}
