/// What an operator may set about FCM.
package struct FCMOptions: Sendable {
    /// How many connections one platform may open.
    package var connectionsMax: Int
    /// How long one batch may take, from asking for a token to the last answer.
    package var deadline: Duration
    /// What Google lets one project send.
    package var messagesPerMinute: Int

    package init(connectionsMax: Int = 10, deadline: Duration = .seconds(30), messagesPerMinute: Int = 600_000) {
        self.connectionsMax = connectionsMax
        self.deadline = deadline
        self.messagesPerMinute = messagesPerMinute
    }
}
