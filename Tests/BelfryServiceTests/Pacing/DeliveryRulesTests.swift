import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct DeliveryRulesTests {
    private func instant(_ text: String) throws -> Instant { try Instant(text, field: "") }

    private func zone(_ name: String) throws -> ZoneInfo { try ZoneInfo(name, field: "") }

    @Test(arguments: [
        ("2026-06-01T19:59:59Z", nil), ("2026-06-01T20:00:00Z", "2026-06-02T06:00:00.000Z"),
        ("2026-06-02T05:59:59Z", "2026-06-02T06:00:00.000Z"), ("2026-06-02T06:00:00Z", nil),
    ])
    func `quiet hours go over midnight by the device's clock`(now: String, end: String?) throws {
        let hours = try #require(DayHours("22:00-08:00"))
        #expect(hours.end(at: try instant(now), in: try zone("Europe/Vienna"))?.text == end)
    }

    /// In the gap the clocks jump from 2:00 to 3:00, in the overlap they show 2:00 to 3:00 twice.
    @Test func `quiet hours end once when clocks change`() throws {
        let vienna = try zone("Europe/Vienna")
        let hours = try #require(DayHours("22:00-02:30"))
        #expect(hours.end(at: try instant("2027-03-28T00:30:00Z"), in: vienna)?.text == "2027-03-28T01:00:00.000Z")
        #expect(hours.end(at: try instant("2026-10-25T00:15:00Z"), in: vienna)?.text == "2026-10-25T00:30:00.000Z")
        #expect(hours.end(at: try instant("2026-10-25T01:15:00Z"), in: vienna) == nil)
    }

    @Test func `every minute is in the hours or out of them`() throws {
        let utc = try zone("UTC")
        for text in ["22:00-08:00", "08:00-22:00", "00:00-00:01", "23:59-00:00"] {
            let hours = try #require(DayHours(text))
            let quiet = (0..<1_440 as Range<Int64>).filter {
                hours.end(at: Instant(milliseconds: $0 * 60_000), in: utc) != nil
            }
            let length = (hours.to - hours.from + 1_440) % 1_440
            #expect(quiet.count == length, "\(text)")
            #expect(quiet.contains(hours.from) && !quiet.contains(hours.to), "\(text)")
        }
    }

    @Test(arguments: [
        "", "22:00", "22:00-22:00", "24:00-01:00", "7:00-8:00", "22:60-08:00", "22:00-08:00-", "aa:bb-cc:dd",
    ])
    func `hours that nobody understands are none`(text: String) { #expect(DayHours(text) == nil) }

    @Test func `users have hours of their own, or none`() throws {
        let quiet = QuietHours(hours: DayHours("22:00-08:00"), then: .wait, zone: try zone("UTC"))
        let night = try instant("2026-06-01T23:00:00Z")
        #expect(quiet.end(at: night, own: nil, in: nil) != nil)
        #expect(quiet.end(at: night, own: "None", in: nil) == nil)
        #expect(quiet.end(at: night, own: "01:00-02:00", in: nil) == nil)
        #expect(quiet.end(at: night, own: "soon", in: nil) != nil)
        #expect(quiet.end(at: night, own: nil, in: try zone("Asia/Tokyo")) == nil)
    }

    @Test(arguments: [
        (#"{"from":"22:00"}"#, "from and to"), (#"{"from":"22:00","to":"22:00"}"#, "different"),
        (#"{"from":"22:00","to":"08:00","then":"defer"}"#, "one of wait, skip, passive"),
        (#"{"from":"22:00","to":"08:00","time_zone":"Vienna"}"#, "time zone"), (#"{"until":"08:00"}"#, "until"),
        ("[]", "an object"), (#"{"from":22}"#, "a string"),
    ])
    func `quiet hours that nobody understands are refused`(json: String, words: String) {
        #expect {
            _ = try QuietHours(JSONValue(json: json.utf8), field: "quiet_hours")
        } throws: { "\($0)".contains(words) && "\($0)".contains("quiet_hours") }
    }

    @Test(arguments: [
        (#"[{"limit":0,"per":"day"}]"#, "caps[0].limit"), (#"[{"limit":101,"per":"day"}]"#, "from 1 to 100"),
        (#"[{"limit":1,"per":"month"}]"#, "day or week"),
        (#"[{"limit":1,"per":"day","kind":"transactional"}]"#, "no limit"),
        (#"[{"limit":1,"per":"day","kind":""}]"#, "kind"), (#"[{"limit":1,"per":"day","kinds":"a"}]"#, "kinds"),
        ("[\(Array(repeating: #"{"limit":1,"per":"day"}"#, count: 9).joined(separator: ","))]", "the limit is 8"),
        ("{}", "an array"),
    ])
    func `caps that nobody understands are refused`(json: String, words: String) {
        #expect {
            _ = try FrequencyCap.list(JSONValue(json: json.utf8), field: "caps")
        } throws: { "\($0)".contains(words) }
    }

    @Test func `rules are read back as they were written`() throws {
        let json =
            #"{"quiet_hours":{"from":"22:00","to":"07:30","then":"skip","time_zone":"Asia/Tokyo"},"caps":[{"limit":2,"per":"day"},{"limit":5,"per":"week","kind":"News"}]}"#
        let rules = try DeliveryRules(JSONValue(json: json.utf8))
        #expect(rules.caps[1].kind == "news")
        #expect(try DeliveryRules(JSONValue(json: JSONValue.object(rules.json).storedText.utf8)) == rules)
        var content = Push.Content(body: "x")
        content.pacing = Pacing(kind: "news", perMinute: 60)
        content = content.paced(by: rules)
        #expect(content.pacing.rules == rules)
        #expect(try Push.Content(stored: Array(content.storedText.utf8)) == content)
        content.pacing = Pacing(kind: "transactional")
        #expect(content.paced(by: rules).pacing.rules.isEmpty)
        #expect(Push.Content.silent([:]).paced(by: rules).pacing.rules.isEmpty, "nobody sees it")
        let call = try ApplePush(type: .voip, priority: nil, payload: ["aps": .object([:])], field: "apns")
        #expect(Push.Content(apple: call).paced(by: rules).pacing.rules.isEmpty, "a call waits for no morning")
    }

    @Test func `a zone that went away costs no application`() throws {
        let json = #"{"quiet_hours":{"from":"22:00","to":"07:30","then":"wait","time_zone":"Atlantis/Poseidonis"}}"#
        let quiet = try #require(try DeliveryRules(JSONValue(json: json.utf8)).quietHours)
        #expect(quiet.zone.name == "Atlantis/Poseidonis", "it may come back")
        #expect(
            quiet.end(at: try instant("2026-06-01T23:00:00Z"), own: nil, in: nil)?.text == "2026-06-02T07:30:00.000Z")
        #expect(throws: InvalidInput.self) { try QuietHours(quiet.json, field: "quiet_hours") }
        #expect(ZoneInfo.utc.local(at: .zero).text == "1970-01-01T00:00")
    }

    /// Held against a list of everything that was admitted.
    @Test(arguments: 0..<50 as Range<UInt64>)
    func `no user gets more than any cap allows`(seed: UInt64) throws {
        var dice = SplitMix64(seed: seed)
        let kinds = [nil, "news", "shop"] as [String?]
        let caps = (0..<dice.draw(1...3)).map { _ in
            FrequencyCap(limit: dice.draw(1...4), period: dice.pick([.day, .week]), kind: dice.pick(kinds))
        }
        var (uses, now, told): (CapUses, Instant, [(push: Int64, kind: String?, user: Int64, at: Instant)]) = (
            CapUses(), .zero, []
        )
        for _ in 0..<300 {
            now = now + .seconds(dice.draw(0...20_000))
            let (push, user) = (Int64(dice.draw(1...200)), Int64(dice.draw(1...4)))
            let kind = kinds[Int(push) % 3]
            var pacing = Pacing(kind: kind)
            pacing.rules = DeliveryRules(caps: caps)
            let isAgain = told.contains { $0.push == push && $0.user == user }
            let isFull = pacing.caps.contains { cap in
                told.count {
                    $0.user == user && (cap.kind == nil || $0.kind == cap.kind)
                        && $0.at > now + (.zero - cap.period.duration)
                } >= cap.limit
            }
            let request = PacingRequest.sample(push, pacing)
            #expect(uses.admit(request, to: user, at: now) == (isAgain || !isFull))
            if !isAgain, !isFull { told.append((push, kind, user, now)) }
        }
        #expect(uses.added.count == told.count)
    }

    @Test func `a long wait delays no other device of its batch`() {
        let batch = Batch.sample([.pending, .pending, .pending])
        let recipients = batch.devices.map { Recipient(device: $0, token: DeviceToken(bytes: [1])) }
        let load = BatchLoad(push: .sample(), platform: .sample, recipients: recipients)
        let morning = Instant.zero + .seconds(8 * 3_600)
        let settlement = Settlement(
            of: batch, sending: load,
            outcomes: [.accepted, .waiting(until: morning), .failed(retryAfter: .seconds(30))], policy: RetryPolicy(),
            now: .zero, jitter: 0)
        #expect(settlement.retryAt == .zero + .seconds(30))
        #expect(settlement.answers == [.accepted, .pending, .pending])
        #expect(settlement.waitEnds[1].map { $0 > .zero + .seconds(2 * 3_600) && $0 < morning } == true)
        let alone = Settlement(
            of: .sample([.pending]),
            sending: BatchLoad(push: .sample(), platform: .sample, recipients: [recipients[0]]),
            outcomes: [.waiting(until: morning)], policy: RetryPolicy(), now: .zero, jitter: 0)
        #expect(alone.retryAt == morning && alone.waitEnds.isEmpty)
        let late = Settlement(
            of: .sample([.pending]),
            sending: BatchLoad(
                push: .sample(expiresAt: .zero + .seconds(60)), platform: .sample, recipients: [recipients[0]]),
            outcomes: [.waiting(until: morning)], policy: RetryPolicy(), now: .zero, jitter: 0)
        #expect(late.answers == [.skipped(.quietHours)])
    }
}

extension PacingRequest {
    static func sample(_ push: Int64, _ pacing: Pacing, devices: [Key<Device>] = []) -> PacingRequest {
        var content = Push.Content(body: "x")
        content.pacing = pacing
        return PacingRequest(
            .sample([.pending]),
            BatchLoad(
                push: Push(
                    key: Key(push), receiptID: UUID(words: 1, UInt64(push)), applicationKey: Key(1), content: content,
                    audience: .list(.active), lane: .normal, guarantee: .atLeastOnce, acceptedAt: .zero,
                    expiresAt: nil),
                platform: .sample,
                recipients: devices.map { Recipient(device: $0, token: DeviceToken(bytes: [1])) }))
    }
}
