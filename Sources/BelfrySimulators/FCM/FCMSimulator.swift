/// FCM on this machine: the token endpoint at `/token`, HTTP v1 at `/v1/projects/{project}/messages:send`.
package typealias FCMSimulator = ServiceSimulator<FCMService>

extension ServiceSimulator where S == FCMService {
    /// The file that the Firebase console would issue: a service account whose key is known here.
    package var serviceAccountJSON: String { service.account.json(tokenURL: "\(url)/token") }

    package var projectID: String { service.configuration.projectID }

    /// The address that a sender posts messages to.
    package var sendURL: String { "\(url)/v1/projects/\(projectID)/messages:send" }
}

/// How a simulated FCM listens, which senders it accepts and how much it takes.
package struct FCMConfiguration: ServiceConfiguration {
    package var listening = Listening()
    package var projectID = "belfry-simulated"
    /// The account whose assertions are accepted; nil makes a new one.
    package var account: ServiceAccount?
    /// Accepts any bearer token. For benchmarks.
    package var believesAnyToken = false
    /// How long an access token lasts.
    package var accessTokenLife = Duration.seconds(3599)
    /// Messages of the project in a minute; nil for no limit. Source: firebase.google.com, "Throttling and scaling".
    package var messagesPerMinute: Int? = 600_000
    /// Messages to one device in a minute and in an hour; nil for no limit. Source: the same.
    package var deviceMessagesPerMinute: Int? = 240
    package var deviceMessagesPerHour: Int? = 5_000

    package init() {}
}
