/// BlackBerry's push service on this machine: PAP 2.1 at `/mss/PD_pushRequest`.
package typealias PAPSimulator = ServiceSimulator<PAPService>

extension ServiceSimulator where S == PAPService {
    /// The address that a sender posts messages to.
    package var sendURL: String { "\(url)/mss/PD_pushRequest" }
}

/// How BlackBerry's simulated push service listens and which senders it accepts.
package struct PAPConfiguration: ServiceConfiguration {
    package var listening = Listening()
    package var applicationID = "1234-ABCDEFbelfry"
    package var password = "p4ssw0rd"
    package var contentBytesMax = 8 * 1024

    package init() {}
}
