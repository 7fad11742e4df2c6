/// MPNS on this machine: channels at `/throttledthirdparty/01.00/{token}`.
package typealias MPNSSimulator = ServiceSimulator<MPNSService>

extension ServiceSimulator where S == MPNSService {
    /// The channel address of a device. The script and the ledger call it by its token.
    package func channel(_ token: String) -> String { "\(url)/throttledthirdparty/01.00/\(token)" }

    /// The channel for a sender with a certificate, which has no daily limit.
    package func unthrottledChannel(_ token: String) -> String {
        "\(url)/unthrottledthirdparty/01.00/\(token)"
    }
}

/// How a simulated MPNS listens and how much it takes.
package struct MPNSConfiguration: ServiceConfiguration {
    package var listening = Listening()
    /// Messages to a channel in a day; nil for no limit. Source: Microsoft, unauthenticated web services.
    package var messagesPerDay: Int? = 500
    package var bodyBytesMax = 3 * 1024
    package var rawBytesMax = 1024

    package init() {}
}
