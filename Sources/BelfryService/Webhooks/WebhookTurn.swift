/// An event of a webhook that failed, or waits behind one that has its subject.
struct WebhookRetry: Sendable, Hashable {
    let position: Int64
    let subject: String
    /// Failures so far; 0 for one that waits behind another.
    var attempts: Int
    /// It counts for the first of a subject alone.
    var dueAt: Instant
}

/// The events that a worker sends to one receiver at a time, decided without the database and the network.
///
/// Events of one subject make a lane: they are sent one after the other, and none overtakes one that failed. A receiver that took nothing of
/// its last turn is asked with one event, and gets all again once it takes that.
struct WebhookTurn: Sendable {
    struct Item: Sendable {
        let event: WebhookEvent
        /// Failures so far.
        let attempts: Int
    }

    struct Attempt: Sendable {
        let item: Item
        let at: Instant
        let answer: ReceiverAnswer
    }

    let webhook: Webhook
    private(set) var lanes: [[Item]] = []
    /// The events up to it are in a lane, among the retries, or of no kind that it wants.
    private(set) var position: Int64
    /// Events that are no longer kept.
    private(set) var dropped: Int64
    /// Rows of retries whose event is no longer kept, or of no kind that it wants any more.
    private(set) var lost: [Int64] = []
    /// The rows of retries, as they will be.
    private var retries: [Int64: WebhookRetry]
    private var isNew: Set<Int64> = []

    /// The most events of a turn.
    static let eventsMax = 128

    /// - Parameters:
    ///   - retries: all that the webhook has.
    ///   - kept: the events of `duePositions`, by position.
    ///   - new: the events after the webhook's position, in order.
    ///   - dropped: how many there were before those that are no longer kept.
    init(
        _ webhook: Webhook, retries: [WebhookRetry], kept: [Int64: WebhookEvent], new: [WebhookEvent], dropped: Int64,
        at now: Instant
    ) {
        self.webhook = webhook
        self.dropped = dropped
        self.retries = Dictionary(uniqueKeysWithValues: retries.map { ($0.position, $0) })
        position = webhook.position + dropped
        let due = Set(Self.duePositions(retries, isProbing: webhook.isProbed, at: now))
        var places: [String: Int] = [:]
        var waiting: Set<String> = []
        for retry in retries {
            guard due.contains(retry.position) else {
                waiting.insert(retry.subject)
                continue
            }
            let event = kept[retry.position]
            if let event, webhook.kinds.contains(event.kind) {
                append(Item(event: event, attempts: retry.attempts), &places)
            } else {
                self.retries[retry.position] = nil
                lost.append(retry.position)
                if event == nil { self.dropped += 1 }
            }
        }
        for event in new {
            if webhook.kinds.contains(event.kind) {
                if webhook.isProbed, !lanes.isEmpty { break }
                if waiting.contains(event.subject) {
                    add(WebhookRetry(position: event.position, subject: event.subject, attempts: 0, dueAt: now))
                } else {
                    append(Item(event: event, attempts: 0), &places)
                }
            }
            position = event.position
        }
    }

    private mutating func append(_ item: Item, _ places: inout [String: Int]) {
        if let place = places[item.event.subject] { return lanes[place].append(item) }
        places[item.event.subject] = lanes.count
        lanes.append([item])
    }

    private mutating func add(_ retry: WebhookRetry) {
        if retries.updateValue(retry, forKey: retry.position) == nil { isNew.insert(retry.position) }
    }

    /// The positions of retries that are to be sent now: of each subject whose first is due.
    ///
    /// - Parameters:
    ///   - retries: in the order of their positions.
    ///   - isProbing: whether one is enough.
    static func duePositions(_ retries: [WebhookRetry], isProbing: Bool, at now: Instant) -> [Int64] {
        var isDue: [String: Bool] = [:]
        var positions: [Int64] = []
        for retry in retries where positions.count < (isProbing ? 1 : eventsMax) {
            let first = isDue[retry.subject] ?? (retry.dueAt <= now)
            isDue[retry.subject] = first
            if first { positions.append(retry.position) }
        }
        return positions
    }

    // MARK: Results

    struct Result: Sendable {
        let position: Int64
        let dropped: Int64
        /// Rows of retries to delete.
        let deleted: [Int64]
        /// Rows of retries to write.
        let written: [WebhookRetry]
        let attempts: [WebhookAttempt.New]
        let failingSince: Instant?
        let pause: Webhook.Pause?
        /// Whether its receiver takes messages again: all that waits is due.
        let hasRecovered: Bool
        /// When the first of the retries is due; nil where there are none.
        let retryAt: Instant?
        /// Whether events after its position are sent before that.
        let takesMore: Bool
    }

    /// - Parameters:
    ///   - attempts: those of each lane in order; the rest of a lane was not sent.
    ///   - jitter: from 0 to 1, for each failure.
    func result(_ attempts: [Attempt], at now: Instant, jitter: () -> Double) -> Result {
        var turn = self
        var changed: Set<Int64> = []
        var (delivered, failures) = (Set<Int64>(), 0)
        for attempt in attempts {
            let (event, count) = (attempt.item.event, attempt.item.attempts + 1)
            if attempt.answer.isDelivered {
                delivered.insert(event.position)
                continue
            }
            failures += 1
            changed.insert(event.position)
            let pause = Self.pause(after: count, asked: attempt.answer.retryAfter, jitter: jitter())
            turn.add(
                WebhookRetry(position: event.position, subject: event.subject, attempts: count, dueAt: now + pause))
        }
        for item in lanes.joined() where turn.retries[item.event.position] == nil {
            guard !delivered.contains(item.event.position) else { continue }
            turn.add(
                WebhookRetry(position: item.event.position, subject: item.event.subject, attempts: 0, dueAt: now))
        }
        let deleted = delivered.filter { turn.retries.removeValue(forKey: $0) != nil }
        let isFailing = delivered.isEmpty && (failures > 0 || webhook.failingSince != nil)
        let failingSince = isFailing ? webhook.failingSince ?? now : nil
        let isOver = failures > 0 && failingSince.map { now - $0 >= WebhookEvent.lifetime } ?? false
        let isGone = attempts.contains { $0.answer.isGone }
        return Result(
            position: position, dropped: dropped, deleted: deleted.sorted() + lost,
            written: changed.union(turn.isNew).sorted().compactMap { turn.retries[$0] },
            attempts: attempts.map {
                WebhookAttempt.New(
                    event: $0.item.event.key, type: $0.item.event.kind.rawValue, number: $0.item.attempts + 1,
                    at: $0.at, answer: $0.answer)
            },
            failingSince: failingSince, pause: isGone ? .gone : isOver ? .failing : nil,
            hasRecovered: webhook.failingSince != nil && !delivered.isEmpty, retryAt: turn.firstDue,
            takesMore: turn.retries.isEmpty || !isFailing && turn.retries.count < Webhook.retriesMax)
    }

    /// The first of each subject counts.
    private var firstDue: Instant? {
        var seen: Set<String> = []
        return retries.values.sorted { $0.position < $1.position }.filter { seen.insert($0.subject).inserted }
            .map(\.dueAt).min()
    }

    private static let pauses = [5, 30, 120, 600, 3_600, 10_800, 21_600]
    private static let askedMax = Duration.seconds(3_600)

    /// The time until the next attempt.
    ///
    /// - Parameters:
    ///   - asked: the wait that the receiver asks for, which counts where it is longer, up to an hour.
    ///   - jitter: from 0 to 1.
    static func pause(after failures: Int, asked: Duration?, jitter: Double) -> Duration {
        let pause = Duration.seconds(pauses[min(max(failures, 1), pauses.count) - 1])
        return max(pause * (0.8 + 0.4 * jitter), min(asked ?? .zero, askedMax))
    }
}

extension Webhook {
    /// Whether its receiver took nothing of the last turn.
    var isProbed: Bool { failingSince != nil }
}
