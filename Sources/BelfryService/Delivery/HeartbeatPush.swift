package import FoundationEssentials

/// A silent push that the client SDKs answer at once, to measure the time of pushes to devices.
///
/// Devices take part by subscribing to the topic. Source: the PCF SDKs and their heartbeat monitors,
/// `docs/compatibility/pcf.md`.
package enum HeartbeatPush {
    package static let topic = "pcf.push.heartbeat"

    /// When its sender sent it, in milliseconds.
    static let sentAtKey = "pcf.push.heartbeat.sentAt"
    /// When the message left for the device, in milliseconds: the server writes it beside the former. An SDK that finds it
    /// reports a heartbeat.
    static let sentToDeviceAtKey = "pcf.push.heartbeat.sentToDeviceAt"

    /// The receipt id of an application's heartbeat at a time, the same on every node: if several nodes send it, only one push is made.
    package static func receiptID(of application: UUID, at now: Instant, every period: Duration) -> UUID {
        let beat = now.milliseconds / max(1, period.milliseconds)
        var bytes = application.bytes
        for index in 0..<8 { bytes[8 + index] ^= UInt8(truncatingIfNeeded: beat >> (8 * (7 - index))) }
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// Whether heartbeats that came back before have stopped: several were not answered.
    package static func isMissing(age: Duration, every period: Duration) -> Bool { age > period * 5 }

    /// Devices that have sent none for this long no longer take part.
    package static let memory = Duration.seconds(86_400)
}

extension Push.Content {
    /// A heartbeat that the SDKs of Android and iOS answer.
    package static func heartbeat(sentAt: Instant) -> Push.Content {
        silent([HeartbeatPush.sentAtKey: .integer(sentAt.milliseconds)])
    }
}
