/// FCM on this machine: the token endpoint at `/token`, HTTP v1 at `/v1/projects/{project}/messages:send`.
package typealias FCMSimulator = ServiceSimulator<FCMService>

extension ServiceSimulator where S == FCMService {
    /// What the Firebase console would have handed out: a service account whose key is known here.
    package var serviceAccountJSON: String { service.account.json(tokenURL: "\(url)/token") }

    package var projectID: String { service.configuration.projectID }

    /// The address that a sender posts messages to.
    package var sendURL: String { "\(url)/v1/projects/\(projectID)/messages:send" }
}

/// How a simulated FCM listens, whom it believes and how much it takes.
package struct FCMConfiguration: ServiceConfiguration {
    package var listening = Listening()
    package var projectID = "belfry-simulated"
    /// The account whose assertions are believed; nil makes a new one.
    package var account: ServiceAccount?
    /// Believes any bearer token. For benchmarks.
    package var believesAnyToken = false
    /// How long an access token lasts.
    package var accessTokenLife = Duration.seconds(3599)
    /// Messages of the project in a minute; nil is without end. Source: firebase.google.com, "Throttling and scaling".
    package var messagesPerMinute: Int? = 600_000
    /// Messages to one device in a minute and in an hour; nil is without end. Source: the same.
    package var deviceMessagesPerMinute: Int? = 240
    package var deviceMessagesPerHour: Int? = 5_000

    package init() {}
}
