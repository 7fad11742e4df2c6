/// A push that nobody sees and that the client SDKs answer at once, by which the way of pushes to devices is measured.
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
}

extension Push.Content {
    /// What the SDKs of Android and iOS answer.
    package static func heartbeat(sentAt: Instant) -> Push.Content {
        silent([HeartbeatPush.sentAtKey: .integer(sentAt.milliseconds)])
    }
}
