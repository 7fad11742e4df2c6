/// Amazon Device Messaging on this machine: the token endpoint at `/auth/O2/token`, devices at
/// `/messaging/registrations/{id}/messages`.
package typealias ADMSimulator = ServiceSimulator<ADMService>

extension ServiceSimulator where S == ADMService {
    package var tokenURL: String { "\(url)/auth/O2/token" }

    /// The address of a device's messages.
    package func sendURL(_ registrationID: String) -> String {
        "\(url)/messaging/registrations/\(registrationID)/messages"
    }
}

/// How a simulated ADM listens and which senders it accepts.
package struct ADMConfiguration: ServiceConfiguration {
    package var listening = Listening()
    package var credentials = ClientCredentials(
        clientID: "amzn1.application-oa2-client.belfry", clientSecret: "amzn1.oa2-cs.v1.secret")
    package var accessTokenLife = Duration.seconds(3600)
    /// Messages of the app in a second; nil for no limit.
    package var messagesPerSecond: Int?

    package init() {}
}
