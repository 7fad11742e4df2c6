/// A back end's request to the mediator: a verb, the softphone, and fields for the app.
package struct AcrobitsCall: Sendable, Hashable {
    package let verb: AcrobitsVerb
    package let appID: String
    package let token: AcrobitsToken
    package let selector: String?
    /// All fields as they were sent, by name.
    package let fields: [String: String]

    package init(
        verb: AcrobitsVerb, appID: String, token: AcrobitsToken, selector: String?, fields: [String: String]
    ) {
        self.verb = verb
        self.appID = appID
        self.token = token
        self.selector = selector
        self.fields = fields
    }

    package var message: String? { text("Message") }
    /// The caller or writer, by the name that people know.
    package var sender: String? { text("UserDisplayName") ?? text("UserName") }
    package var sound: String? { text("Sound") }
    /// A few senders write a string. Source: voipbits.
    package var badge: Int64? { text("Badge").flatMap { Int64($0) }.flatMap { $0 < 0 ? nil : $0 } }

    /// A field that holds something.
    package func text(_ name: String) -> String? { fields[name].flatMap { $0.isEmpty ? nil : $0 } }
}

/// The kinds of messages that the mediator knows. Source: Acrobits, "HTTP push" and "SIPIS-less pushes".
package enum AcrobitsVerb: Sendable, Hashable {
    case incomingCall, incomingCallMissed, incomingCallAnsweredElsewhere
    /// Wakes the app, which fetches its messages.
    case textMessage
    /// Shows the text that comes with it.
    case genericTextMessage
    /// Goes to the app as data.
    case other(String)

    private static let known: [(name: String, verb: AcrobitsVerb)] = [
        ("NotifyIncomingCall", .incomingCall), ("NotifyIncomingCallMissed", .incomingCallMissed),
        ("NotifyIncomingCallAnsweredElsewhere", .incomingCallAnsweredElsewhere), ("NotifyTextMessage", .textMessage),
        ("NotifyGenericTextMessage", .genericTextMessage),
    ]

    package init(_ name: String) { self = Self.known.first { $0.name == name }?.verb ?? .other(name) }

    package var name: String {
        if case .other(let name) = self { return name }
        return Self.known.first { $0.verb == self }?.name ?? ""
    }

    package var isCall: Bool {
        switch self {
        case .incomingCall, .incomingCallMissed, .incomingCallAnsweredElsewhere: true
        case .textMessage, .genericTextMessage, .other: false
        }
    }

    package var needsSelector: Bool { self != .genericTextMessage }
}
