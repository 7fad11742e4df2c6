import FoundationEssentials
import KeyFiles

extension AcrobitsService {
    /// The result of a message to the mediator.
    package enum Verdict: Sendable, Hashable {
        case sent(Push)
        /// The provider said that the token is dead.
        case dead(Key<Application>)
        /// No platform takes tokens like this one with the app id.
        case unknownAppID
    }

    /// A message with the platforms that it may be for.
    package struct Route: Sendable {
        let call: AcrobitsCall
        let places: [Place]

        /// The applications that have the app id: the message is charged to them.
        package var applications: Set<Key<Application>> { Set(places.map(\.platform.applicationKey)) }
    }

    /// - Parameter applications: the applications whose mediator serves the caller.
    package func route(_ call: AcrobitsCall, among applications: Set<Key<Application>>) async throws -> Route {
        let appIDs = try await store.acrobitsAppIDs(named: call.appID, of: applications)
        return Route(call: call, places: try await places(appIDs, for: call.token))
    }

    /// Accepts a back end's request as an urgent push. A token that no softphone reported here is registered first: the back end
    /// may have kept it for long.
    package func send(_ route: Route) async throws -> Verdict {
        let (call, places) = (route.call, route.places)
        var dead: Key<Application>?
        for place in places {
            guard let token = try? call.token.deviceToken(for: place.platform.kind) else { continue }
            guard let holder = try await store.holders(of: [token], on: place.platform.key)[token] else { continue }
            if holder.isActive, try await !isDead(holder, on: place.platform.key) {
                return .sent(try await send(call, to: holder.device, holder.uuid, place))
            }
            dead = place.platform.applicationKey
        }
        if let dead { return .dead(dead) }
        // An unknown token does not show which of several applications it belongs to.
        guard let place = places.first, route.applications.count == 1 else { return .unknownAppID }
        let token = try call.token.deviceToken(for: place.platform.kind)
        let registration = try Registration(
            token: token, about: Device.About(), customUserID: .keep, topics: .keep)
        let device = try await store.register(registration, as: nil, on: place.platform)
        return .sent(try await send(call, to: device.key, device.uuid, place))
    }

    /// Whether the provider took the token for none within the last day, and no softphone has reported it since.
    private func isDead(_ holder: TokenHolder, on platform: Key<Platform>) async throws -> Bool {
        let known = try await late.answer(of: holder, on: platform, in: store)
        return known.map { $0.answer.isOfDeadToken && clock.now < $0.since + TokenGateway.deadFor } ?? false
    }

    private func send(
        _ call: AcrobitsCall, to device: Key<Device>, _ uuid: UUID, _ place: Place
    ) async throws -> Push {
        let payload = AcrobitsPayload(call, template: place.payload)
        let content = try payload.content(for: place.platform.kind)
        // It goes to this platform alone, whatever others could take.
        try content.check(for: [place.platform.kind], receiptID: uuid)
        let request = PushRequest(
            content: content, target: try Target(devices: [uuid]),
            lane: .urgent, expiresAt: clock.now + payload.timeToLive)
        let push = try await pushes.send(request, for: place.platform.applicationKey)
        late.note([:], of: [device], to: push.key, at: clock.now)
        return push
    }
}

/// Another mediator, which gets the messages for app ids that no application here has.
package protocol MediatorRelay: Sendable {
    /// - Parameter isForm: whether the body is a form; it is JSON otherwise.
    func relay(_ body: [UInt8], isForm: Bool) async throws -> RelayedAnswer
}

package enum RelayedAnswer: Sendable, Hashable {
    /// - code: of the body, or else the status.
    case answered(status: Int, code: Int, words: String)
    case unreachable
}

/// A back end's request to the mediator: a verb, the softphone, and fields for the app.
package struct AcrobitsCall: Sendable, Hashable {
    package let verb: AcrobitsVerb
    package let appID: String
    package let token: AcrobitsToken
    package let selector: String?
    /// All fields as they were sent, by name.
    package let fields: [String: String]

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

/// A push token as softphones spell it: Base64 of the 32 bytes of an APNs token, or of a token of FCM, which is text.
///
/// Padding may be missing, the alphabet may be that of URLs, and a `+` may have become a blank on the way. Hex digits and the
/// plain text of other providers are taken too. Source: Acrobits, "Push Token Reporter", whose samples decode so.
package struct AcrobitsToken: Sendable, Hashable {
    /// As it was received, with blanks mended.
    package let text: String
    package let meaning: Meaning

    package enum Meaning: Sendable, Hashable {
        /// The bytes of a token of APNs.
        case apple([UInt8])
        /// A token of another provider.
        case text(String)
    }

    /// nil where no provider hands out such a token.
    package init?(_ received: String) {
        let text = Self.mended(received)
        guard !text.isEmpty, text.utf8.count <= DeviceToken.bytesMax, text.utf8.allSatisfy(\.isVisible) else {
            return nil
        }
        self.text = text
        meaning = Self.meaning(of: text)
    }

    private static func mended(_ text: String) -> String {
        if text.hasPrefix("<"), text.hasSuffix(">") { return text.filter { $0 != "<" && $0 != ">" && $0 != " " } }
        return String(text.map { $0 == " " ? "+" : $0 })
    }

    private static let appleBytes = 32

    private static func meaning(of text: String) -> Meaning {
        if text.utf8.count == 2 * appleBytes, let bytes = [UInt8](hex: text.utf8) { return .apple(bytes) }
        guard let bytes = Base64.decode(loose: text.utf8) else { return .text(text) }
        if bytes.count == appleBytes { return .apple(bytes) }
        return bytes.allSatisfy(\.isVisible) && !bytes.isEmpty
            ? .text(String(decoding: bytes, as: UTF8.self)) : .text(text)
    }
}

extension AcrobitsToken {
    package var isApple: Bool {
        if case .apple = meaning { true } else { false }
    }

    /// The token as the platform's provider knows it. Throws where the platform takes no such token.
    package func deviceToken(for kind: PlatformKind) throws(InvalidInput) -> DeviceToken {
        switch meaning {
        case .apple(let bytes): try DeviceToken(bytes.hex, for: kind)
        case .text(let text): try DeviceToken(text, for: kind)
        }
    }
}

extension UInt8 {
    fileprivate var isVisible: Bool { 0x21...0x7E ~= self }
}
