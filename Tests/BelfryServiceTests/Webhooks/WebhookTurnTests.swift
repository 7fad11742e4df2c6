import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

/// The decisions of a turn, without a database and a network.
@Suite struct WebhookTurnTests {
    private static let now = Instant(milliseconds: 1_700_000_000_000)

    private static func webhook(
        position: Int64 = 0, kinds: WebhookKinds = Set(WebhookEvent.Kind.allCases), failingSince: Instant? = nil
    ) -> Webhook {
        Webhook(
            key: Key(1), uuid: UUID(), applicationKey: Key(1), name: "crm", url: "https://crm.example", kinds: kinds,
            secrets: Sealed(bytes: []), formerUntil: nil, position: position, paused: nil, failingSince: failingSince,
            dueAt: nil, lease: 1, dropped: 0, createdAt: .zero, pending: 0, retries: 0)
    }

    private static func event(
        _ position: Int64, _ subject: String, _ kind: WebhookEvent.Kind = .deviceRegistered
    ) -> WebhookEvent {
        WebhookEvent(
            key: Key(position), applicationKey: Key(1), kind: kind, subject: subject, data: "{}", createdAt: now,
            position: position)
    }

    private static func retry(_ position: Int64, _ subject: String, _ attempts: Int = 1, in wait: Int64) -> WebhookRetry
    {
        WebhookRetry(position: position, subject: subject, attempts: attempts, dueAt: now + .seconds(wait))
    }

    private static func turn(
        _ webhook: Webhook = webhook(), retries: [WebhookRetry] = [], new: [WebhookEvent] = [], dropped: Int64 = 0
    ) -> WebhookTurn {
        let kept = retries.map { event($0.position, $0.subject) }
        return WebhookTurn(
            webhook, retries: retries, kept: Dictionary(uniqueKeysWithValues: kept.map { ($0.position, $0) }), new: new,
            dropped: dropped, at: now)
    }

    /// The result where receivers answer so by position; other events are not sent.
    private static func result(
        _ turn: WebhookTurn, _ statuses: [Int64: Int], at now: Instant = now, retryAfter: Duration? = nil
    ) -> WebhookTurn.Result {
        let attempts = turn.lanes.flatMap { lane in
            lane.compactMap { item in
                statuses[item.event.position].map { status in
                    WebhookTurn.Attempt(
                        item: item, at: now,
                        answer: ReceiverAnswer(status: status, milliseconds: 1, retryAfter: retryAfter))
                }
            }
        }
        return turn.result(attempts, at: now) { 0.5 }
    }

    private static func positions(_ turn: WebhookTurn) -> [[Int64]] { turn.lanes.map { $0.map(\.event.position) } }

    @Test func `events of a subject follow one another`() {
        let turn = Self.turn(new: [Self.event(1, "a"), Self.event(2, "b"), Self.event(3, "a")])
        #expect(Self.positions(turn) == [[1, 3], [2]])
        let result = Self.result(turn, [1: 200, 2: 204, 3: 299])
        #expect(result.position == 3 && result.written.isEmpty && result.deleted.isEmpty)
        #expect(result.failingSince == nil && result.retryAt == nil && result.takesMore)
        #expect(result.attempts.map(\.number) == [1, 1, 1])
    }

    @Test func `a failed event holds up its subject alone`() {
        let turn = Self.turn(new: [Self.event(1, "a"), Self.event(2, "b"), Self.event(3, "a")])
        let result = Self.result(turn, [1: 500, 2: 200])
        #expect(result.position == 3 && result.failingSince == nil)
        #expect(result.written.map(\.position) == [1, 3] && result.written.map(\.attempts) == [1, 0])
        #expect(result.retryAt == Self.now + .seconds(5))
        let next = Self.turn(
            Self.webhook(position: 3), retries: result.written, new: [Self.event(4, "a"), Self.event(5, "c")])
        #expect(Self.positions(next) == [[5]], "4 waits behind 1 and 3")
        #expect(Self.result(next, [5: 200]).written.map(\.position) == [4])
    }

    @Test func `a due retry takes those behind it along`() {
        let retries = [Self.retry(1, "a", in: -1), Self.retry(2, "b", in: 60), Self.retry(3, "a", 0, in: 0)]
        let turn = Self.turn(
            Self.webhook(position: 3), retries: retries, new: [Self.event(4, "a"), Self.event(5, "b")])
        #expect(Self.positions(turn) == [[1, 3, 4]])
        let result = Self.result(turn, [1: 200, 3: 200, 4: 200])
        #expect(result.deleted == [1, 3] && result.written.map(\.position) == [5])
        #expect(result.retryAt == Self.now + .seconds(60))
    }

    @Test func `a receiver that takes nothing is asked with one`() {
        let new = (1...4).map { Self.event($0, "\($0)") }
        let failed = Self.result(Self.turn(new: new), [1: 500, 2: 500, 3: 503, 4: 404])
        #expect(failed.failingSince == Self.now && failed.written.count == 4 && !failed.takesMore)
        let webhook = Self.webhook(position: 4, failingSince: Self.now)
        let due = failed.written.map {
            WebhookRetry(position: $0.position, subject: $0.subject, attempts: 1, dueAt: Self.now)
        }
        let probe = Self.turn(webhook, retries: due, new: [Self.event(5, "5")])
        #expect(Self.positions(probe) == [[1]] && probe.position == 4)
        #expect(Self.result(probe, [1: 500]).failingSince == Self.now)
        let better = Self.result(probe, [1: 200])
        #expect(better.hasRecovered && better.failingSince == nil && better.deleted == [1])
    }

    @Test func `a receiver without success for three days is paused`() {
        let webhook = Self.webhook(failingSince: Self.now)
        let turn = Self.turn(webhook, new: [Self.event(1, "a")])
        #expect(Self.result(turn, [1: 500], at: Self.now + .seconds(3 * 86_400 - 1)).pause == nil)
        #expect(Self.result(turn, [1: 500], at: Self.now + .seconds(3 * 86_400)).pause == .failing)
        #expect(Self.result(turn, [1: 200], at: Self.now + .seconds(3 * 86_400)).pause == nil)
        #expect(Self.result(turn, [1: 410]).pause == .gone)
    }

    @Test func `kinds that are not wanted are passed over`() {
        let webhook = Self.webhook(kinds: [.pushSettled])
        let turn = Self.turn(webhook, new: [Self.event(1, "a"), Self.event(2, "r", .pushSettled), Self.event(3, "b")])
        #expect(Self.positions(turn) == [[2]] && turn.position == 3)
        let left = Self.turn(webhook, retries: [Self.retry(1, "a", in: -1), Self.retry(2, "b", in: 60)])
        #expect(left.lanes.isEmpty && left.lost == [1] && left.dropped == 0, "a kind that was wanted before")
        #expect(Self.result(left, [:]).deleted == [1])
    }

    @Test func `events that are no longer kept are counted`() {
        let turn = WebhookTurn(
            Self.webhook(position: 3), retries: [Self.retry(2, "a", in: -1)], kept: [:], new: [Self.event(9, "b")],
            dropped: 5, at: Self.now)
        let result = Self.result(turn, [9: 200])
        #expect(result.dropped == 6 && result.deleted == [2] && result.position == 9)
    }

    @Test func `events that had no time are sent next`() {
        let turn = Self.turn(new: [Self.event(1, "a"), Self.event(2, "b")])
        let result = Self.result(turn, [1: 200])
        #expect(result.position == 2 && result.written.map(\.position) == [2] && result.written[0].attempts == 0)
        #expect(result.retryAt == Self.now)
    }

    @Test(arguments: [(1, 5), (2, 30), (3, 120), (4, 600), (5, 3_600), (6, 10_800), (7, 21_600), (50, 21_600)])
    func `pauses grow to six hours`(failures: Int, seconds: Int) {
        let pause = Duration.seconds(seconds)
        #expect(WebhookTurn.pause(after: failures, asked: nil, jitter: 0) == pause * 0.8)
        #expect(WebhookTurn.pause(after: failures, asked: nil, jitter: 1) == pause * (0.8 + 0.4))
    }

    @Test func `a receiver may ask for an hour at most`() {
        #expect(WebhookTurn.pause(after: 1, asked: .seconds(90), jitter: 0) == .seconds(90))
        #expect(WebhookTurn.pause(after: 1, asked: .seconds(86_400), jitter: 0) == .seconds(3_600))
        #expect(WebhookTurn.pause(after: 7, asked: .seconds(1), jitter: 0.5) == .seconds(21_600))
        let result = Self.result(Self.turn(new: [Self.event(1, "a")]), [1: 429], retryAfter: .seconds(77))
        #expect(result.retryAt == Self.now + .seconds(77))
    }

    @Test func `failing receivers count apart, and others leave room`() {
        var budget = WebhookBudget()
        let (bakery, dairy) = (Key<Tenant>(1), Key<Tenant>(2))
        budget.add(8, of: bakery, isFailing: true)
        #expect(budget.fullTenants(isFailing: true) == [bakery] && budget.room(of: bakery, isFailing: false) == 32)
        let taken = (0..<3).map { _ in budget.takeMore(15, of: bakery, isFailing: false) }
        #expect(taken == [15, 8, 4] && budget.fullTenants(isFailing: false) == [])
        budget.add(5, of: bakery, isFailing: false)
        #expect(budget.fullTenants(isFailing: false) == [bakery] && budget.room(of: dairy, isFailing: false) == 32)
        budget.add(-32, of: bakery, isFailing: false)
        budget.add(24, of: dairy, isFailing: true)
        #expect(budget.room(of: Key(3), isFailing: true) == 0 && budget.room(isFailing: false) == 96)
    }

    @Test func `a message says what happened where`() throws {
        let application = UUID()
        let event = WebhookEvent(
            key: Key(17), applicationKey: Key(1), kind: .userDeleted, subject: "kim", data: #"{"user_id":"kim"}"#,
            createdAt: Self.now, position: 3)
        #expect(
            event.message(of: application)
                == #"{"type":"user.deleted","timestamp":"2023-11-14T22:13:20.000Z","data":{"application":"\#(application.lowercased)","user_id":"kim"}}"#
        )
        #expect(event.id == "evt_17" && WebhookEvent.key("evt_17") == Key(17) && WebhookEvent.key("17") == nil)
        #expect(
            WebhookEvent.message("webhook.test", at: Self.now, of: application).hasSuffix(
                #""data":{"application":"\#(application.lowercased)"}}"#))
    }

    @Test func `kinds are stored and named`() throws {
        for kind in WebhookEvent.Kind.allCases { #expect(WebhookKinds(bits: WebhookKinds([kind]).bits) == [kind]) }
        #expect(try WebhookKinds(["*"], field: "kinds").count == WebhookEvent.Kind.allCases.count)
        #expect(
            try WebhookKinds(["user.deleted", "push.settled"], field: "kinds").names == [
                "push.settled", "user.deleted",
            ])
        #expect(throws: InvalidInput.self) { try WebhookKinds(["push.sent"], field: "kinds") }
    }

    @Test(arguments: [
        "ftp://crm.example", "https://", "crm.example", "https://user@crm.example", "http://crm.example",
        "https://crm.example:0/", "https://crm.example/ä",
        "https://crm.example/" + String(repeating: "a", count: 2_048),
    ])
    func `tenants name addresses with TLS alone`(url: String) {
        #expect(throws: InvalidInput.self) {
            _ = try WebhookEdit(url: url).checked(by: .broker(address: nil))
        }
    }

    @Test func `secrets have the form of the standard`() throws {
        #expect(try WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", field: "secret").text.hasPrefix("whsec_"))
        #expect(try WebhookSecret(WebhookSecret().text, field: "secret").text.count > 40)
        for text in ["", "whsec_", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_????"] {
            #expect(throws: InvalidInput.self) { try WebhookSecret(text, field: "secret") }
        }
    }
}
