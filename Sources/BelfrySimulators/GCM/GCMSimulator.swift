/// The legacy protocol of GCM and FCM on this machine: `/gcm/send` and `/fcm/send`.
package typealias GCMSimulator = ServiceSimulator<GCMService>

extension ServiceSimulator where S == GCMService {
    /// The address that a sender posts messages to.
    package var sendURL: String { "\(url)/gcm/send" }
}

/// How a simulated GCM listens and which senders it accepts.
package struct GCMConfiguration: ServiceConfiguration {
    package var listening = Listening()
    package var serverKey = "AIzaSyBelfrySimulatedServerKey"

    package init() {}
}
