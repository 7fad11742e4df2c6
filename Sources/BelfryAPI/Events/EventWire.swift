import BelfryService
import NIOCore

/// Writes events for a browser's `EventSource`. Source: WHATWG HTML, "Server-sent events".
struct EventWire {
    private(set) var buffer = ByteBuffer()

    /// How soon to reconnect when the connection breaks, in milliseconds.
    static let greeting = ByteBuffer(string: "retry: 2000\n\n")
    /// A comment, which readers skip.
    static let heartbeat = ByteBuffer(string: ":\n\n")

    mutating func event(_ event: PushEvent, id: String) {
        let receipt = event.receipt
        var json = JSONWriter()
        json.object { json in
            json.uuid("receipt_id", receipt.push.receiptID)
            json.string("state", receipt.state.rawValue)
            json.string("accepted_at", receipt.push.acceptedAt.text)
            json.string("settled_at", receipt.settledAt?.text)
            json.integer("devices", Int64(receipt.devices))
            json.integer("answered", Int64(receipt.answered))
            json.integers(
                "counts", receipt.counts.map { ($0.key.name, Int64($0.value)) }.sorted { $0.0 < $1.0 })
            json.array("parked", receipt.parked) { json, platform in
                json.object { json in
                    json.string("platform_uuid", platform.uuid.lowercased)
                    json.string("cause", platform.parking.cause.rawValue)
                    json.string("detail", platform.parking.detail)
                    json.string("next_probe_at", platform.parking.probe?.at.text)
                }
            }
        }
        write(event.kind.rawValue, id: id, json.buffer)
    }

    /// - Parameter count: nil when it is unknown.
    mutating func lost(_ count: Int64?) {
        var json = JSONWriter()
        json.object { json in
            if let count { json.integer("count", count) } else { json.string("count", nil) }
        }
        write("lost", id: nil, json.buffer)
    }

    private mutating func write(_ name: String, id: String?, _ data: ByteBuffer) {
        if let id { buffer.writeString("id: \(id)\n") }
        buffer.writeString("event: \(name)\ndata: ")
        buffer.writeImmutableBuffer(data)
        buffer.writeString("\n\n")
    }
}
