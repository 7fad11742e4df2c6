import BelfryService
import Foundation

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

    /// The body of a request to a collector.
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
