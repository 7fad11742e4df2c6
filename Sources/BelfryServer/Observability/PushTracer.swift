import BelfryService
import Foundation
import HTTP2Client
import Logging
import Metrics
import Outbound
import ServiceLifecycle
import Synchronization

/// Reports each push to a collector once its last device has its answer.
///
/// Acceptance and delivery drop a hint here, and wait for nothing. Where nodes share a database, the one that accepted a push follows it.
/// The receipts of followed pushes are read a second after a hint, and without one after 1, 2, 4 … 60 s. What finds no room is dropped and
/// counted: a trace is a help, and no ledger.
final class PushTracer: PushObserver, Service {
    /// Pushes that are not settled, or not looked at yet.
    private static let followedMax = 16_384
    /// Spans that wait for the collector.
    private static let spansMax = 2_048
    private static let spansOfRequestMax = 512
    /// Reported pushes, in two generations, so that a late hint reports none again.
    private static let toldMax = 4_096
    private static let deadline = Duration.seconds(5)
    private static let pause = Duration.seconds(1)
    private static let longestWait = Duration.seconds(60)
    /// After the collector gave no answer, or asked for patience.
    private static let longPause = Duration.seconds(5)

    private let configuration: TraceConfiguration
    private let store: any Store
    private let isShared: Bool
    private let outbound: Outbound
    private let clock: any WallClock
    private let node: String
    private let logger: Logger
    private let state = Mutex(State())
    private let waiting = Mutex<[PushSpan]>([])

    private struct State {
        var followed: [UUID: Follow] = [:]
        var told: Set<UUID> = []
        var toldBefore: Set<UUID> = []
    }

    private struct Follow {
        var dueAt: Instant
        var wait = PushTracer.pause
    }

    /// - Parameter isShared: whether other nodes accept pushes too.
    init(
        _ configuration: TraceConfiguration, store: any Store, isShared: Bool, outbound: Outbound,
        clock: any WallClock, node: String, logger: Logger
    ) {
        self.configuration = configuration
        self.store = store
        self.isShared = isShared
        self.outbound = outbound
        self.clock = clock
        self.node = node
        self.logger = logger
    }

    package func accepted(_ push: PushHead) { note(push, isMine: true) }

    package func pushMayHaveChanged(_ push: PushHead) { note(push, isMine: !isShared) }

    private func note(_ push: PushHead, isMine: Bool) {
        guard isChosen(push.receiptID) else { return }
        let isKept = state.withLock { state in
            if state.followed[push.receiptID] != nil {
                state.followed[push.receiptID] = Follow(dueAt: .zero)
                return true
            }
            guard isMine, !state.told.contains(push.receiptID), !state.toldBefore.contains(push.receiptID) else {
                return true
            }
            guard state.followed.count < Self.followedMax else { return false }
            state.followed[push.receiptID] = Follow(dueAt: .zero)
            return true
        }
        if !isKept { Metric.spans(.dropped).increment() }
    }

    /// Chooses by the last bytes of the id, which are random: so all nodes choose the same pushes.
    private func isChosen(_ push: UUID) -> Bool {
        let draw = Int(push.uuid.14) << 8 | Int(push.uuid.15)
        return draw * 100 < configuration.percent << 16
    }

    package func run() async {
        await cancelWhenGracefulShutdown { [self] in
            while (try? await clock.sleep(for: Self.pause)) != nil {
                // Cancelled on its way, a request would be sent again, and its spans come twice.
                let isTaken = await Task { await self.report() }.value
                if !isTaken { try? await clock.sleep(for: Self.longPause) }
            }
        }
        // Pushes may have settled while the server stopped.
        _ = await report()
    }

    private func report() async -> Bool {
        await look()
        return await send()
    }

    /// Makes spans of the pushes that are settled.
    private func look() async {
        let now = clock.now
        let due = state.withLock { state in
            let due = state.followed.filter { $0.value.dueAt <= now }
            for (push, follow) in due {
                state.followed[push] = Follow(dueAt: now + follow.wait, wait: min(follow.wait * 2, Self.longestWait))
            }
            return due.keys
        }
        for push in due {
            do {
                let receipt = try await store.receipt(push)
                if let span = receipt.flatMap(PushSpan.init) {
                    tell(span, of: push)
                } else if receipt == nil {
                    state.withLock { $0.followed[push] = nil }
                }
            } catch {
                logger.debug("a receipt could not be read for its span", metadata: ["error": "\(error)"])
            }
        }
    }

    private func tell(_ span: PushSpan, of push: UUID) {
        state.withLock { state in
            state.followed[push] = nil
            if state.told.count >= Self.toldMax { (state.toldBefore, state.told) = (state.told, []) }
            state.told.insert(push)
        }
        let isIn = waiting.withLock { waiting in
            guard waiting.count < Self.spansMax else { return false }
            waiting.append(span)
            return true
        }
        if !isIn { Metric.spans(.dropped).increment() }
    }

    /// Sends what waits. False where the collector is to be left alone for a while; what it did not take is kept.
    private func send() async -> Bool {
        while case let spans = waiting.withLock({ Array($0.prefix(Self.spansOfRequestMax)) }), !spans.isEmpty {
            var request = OutboundRequest("POST", configuration.endpoint, body: PushSpan.body(of: spans, node: node))
            request.headers =
                [HTTP2Header("content-type", "application/json")]
                + configuration.headers.map { HTTP2Header($0.name, $0.value) }
            switch await outbound.ask(request, deadline: Self.deadline) {
            case .response(let response) where 200..<300 ~= response.status:
                done(spans.count, .sent)
            case .response(let response) where [429, 502, 503, 504].contains(response.status):
                return complain("it answered \(response.status)")
            case .response(let response):
                done(spans.count, .refused)
                _ = complain("it answered \(response.status), and gets these no more")
            case .unprocessed(let fault), .unknown(let fault):
                return complain("\(fault)")
            }
        }
        return true
    }

    private func done(_ count: Int, _ outcome: SpanOutcome) {
        waiting.withLock { $0.removeFirst(count) }
        Metric.spans(outcome).increment(by: Int64(count))
    }

    private func complain(_ problem: String) -> Bool {
        logger.warning("the collector of traces takes no spans", metadata: ["problem": "\(problem)"])
        return false
    }
}

enum SpanOutcome: String, CaseIterable { case sent, refused, dropped }

/// The span of a push: from its acceptance to the answer of its last device.
///
/// Its ids are the bytes of the push's receipt id, so each can be found from the other, and two nodes that report a push report the
/// same.
/// Source: OTLP 1.5, `trace.proto`, and its JSON mapping: ids in hex, 64-bit numbers as texts.
struct PushSpan: Sendable {
    private let receipt: Receipt
    private let end: Instant

    /// nil while a device waits.
    init?(_ receipt: Receipt) {
        guard let settledAt = receipt.settledAt else { return nil }
        self.receipt = receipt
        // The clocks of two nodes may differ where they have one each.
        end = max(settledAt, receipt.push.acceptedAt)
    }

    private var json: JSONValue {
        let id = withUnsafeBytes(of: receipt.push.receiptID.uuid) { Array($0) }
        let answers = receipt.counts.filter { $0.value > 0 }.sorted { $0.key.code < $1.key.code }
        let first = receipt.firstAnswerAt.map {
            JSONValue.object(["name": .string("first answer"), "timeUnixNano": $0.nanoseconds])
        }
        return .object([
            "traceId": .string(id.hex), "spanId": .string(id.suffix(8).hex), "name": .string("push"),
            // SPAN_KIND_PRODUCER
            "kind": .integer(4), "startTimeUnixNano": receipt.push.acceptedAt.nanoseconds,
            "endTimeUnixNano": end.nanoseconds, "events": .array([first].compactMap(\.self)),
            "attributes": .array(
                [
                    .attribute("belfry.push.id", .string(receipt.push.receiptID.lowercased)),
                    .attribute("belfry.push.lane", .string("\(receipt.push.lane)")),
                    .attribute("belfry.push.devices", receipt.devices),
                ]
                    + answers.map {
                        .attribute("belfry.push.answers." + $0.key.name.replacing(": ", with: "."), $0.value)
                    }),
        ])
    }

    static func body(of spans: [PushSpan], node: String) -> [UInt8] {
        let resource = [
            JSONValue.attribute("service.name", .string("belfry")),
            .attribute("service.version", .string(Release.version)), .attribute("service.instance.id", .string(node)),
        ]
        let scope = JSONValue.object(["name": .string("belfry"), "version": .string(Release.version)])
        let scopeSpans = JSONValue.object(["scope": scope, "spans": .array(spans.map(\.json))])
        return JSONValue.object([
            "resourceSpans": .array([
                .object([
                    "resource": .object(["attributes": .array(resource)]), "scopeSpans": .array([scopeSpans]),
                ])
            ])
        ]).encoded
    }
}

extension JSONValue {
    fileprivate static func attribute(_ key: String, _ value: JSONValue) -> JSONValue {
        .object(["key": .string(key), "value": .object(["stringValue": value])])
    }

    fileprivate static func attribute(_ key: String, _ number: Int) -> JSONValue {
        .object(["key": .string(key), "value": .object(["intValue": .string(String(number))])])
    }
}

extension Instant {
    fileprivate var nanoseconds: JSONValue { .string("\(milliseconds)000000") }
}
