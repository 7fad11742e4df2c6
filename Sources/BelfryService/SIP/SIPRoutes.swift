import FoundationEssentials
import HTTPTypes
package import Hummingbird
import NIOCore

/// The gateway of SIP proxies and registrars: `POST` or `GET /sip/<key>/wake` with the push parameters of a contact.
///
/// A dead token is 410: the proxy removes the contact.
package struct SIPRoutes: Sendable {
    private let services: Services
    private let door: TokenGatewayDoor
    private let gateway: TokenGateway

    package init(_ services: Services, verdictWait: Duration = .seconds(5)) {
        self.services = services
        door = TokenGatewayDoor(services)
        gateway = TokenGateway(services, verdictWait: verdictWait)
    }

    package func add(to router: Router<APIContext>) {
        router.serve("sip/:key/wake", isSafe: false, [.post: wake, .get: wake])
    }

    @Sendable private func wake(_ request: Request, _ context: APIContext) async throws -> Response {
        let caller = try await door.caller(.sip, key: context.parameters.get("key"), of: request, context)
        let body = try await request.bytes(atMost: TokenGatewayDoor.bodyBytesMax)
        let wake = try SIPWake(query: request.uri.query ?? "", body: body)
        let target = try wake.target()
        var platform = caller.platforms.only(target.kind, target.mode)
        if target.mode == nil { platform = platform ?? caller.platforms.only(target.kind, .production) }
        // Contacts of both environments have the same names.
        for case let named? in try target.names.map(caller.platforms.named)
        where target.mode == nil || named.mode == target.mode { platform = named }
        guard let platform else {
            throw InvalidInput(
                field: "pn-param", "names no platform: its option, or a single platform of its type, is missing")
        }
        guard let token = try? DeviceToken(target.token, for: platform.kind) else { return Self.dead }
        let message = TokenGateway.Message(
            content: wake.content(for: platform.kind), expiresAt: wake.expiry(at: services.clock.now),
            id: wake.id(of: caller.endpoint, target))
        let answer = try await gateway.send(message, to: [token], on: platform)[token] ?? .pending
        if answer.isOfUselessToken { return Self.dead }
        if case .refused(let refusal) = answer {
            throw InvalidInput(field: "pn-prid", "was refused by the provider: \(refusal)")
        }
        return Response(json: ByteBuffer(string: #"{"accepted":true}"#))
    }

    private static var dead: Response {
        Response(
            status: .gone,
            json: ByteBuffer(string: #"{"error":"pn-prid is dead, or was never one: remove the contact"}"#))
    }
}

/// A request of a SIP proxy or registrar to wake the device behind a contact, for a call or a message.
///
/// Source: RFC 8599 §4.1 and §8; Flexisip, "module::PushNotification", `external-push-uri`.
struct SIPWake: Sendable {
    private var values: [Name: String] = [:]

    /// The parameters, as a query, a form or a JSON object has them. Others are left out.
    private enum Name: String, CaseIterable {
        case contact
        case provider = "pn-provider"
        case parameter = "pn-param"
        case token = "pn-prid"
        case event, from, alert
        case callID = "call-id"
    }

    /// The platform's token that is meant, and the names that its platform may have in the options of the gateway.
    struct Target: Sendable {
        let token: String
        let kind: PlatformKind
        let mode: Platform.Mode?
        let names: [String]
    }

    /// How long a message waits for a device that cannot be reached.
    private static let messageLifetime = Duration.seconds(86_400)
    /// More of a name or a text would not fit beside the rest.
    private static let textBytesMax = 256

    init(query: String, body: [UInt8]) throws(InvalidInput) {
        try read(query[...])
        var reader = JSONReader(body)
        guard reader.isAtObject() else {
            try read(String(decoding: body, as: UTF8.self).trimmingSpaces)
            return
        }
        try JSONReader.document(body) { reader, name throws(InvalidInput) in
            guard let known = Name(rawValue: name) else { return try reader.skip() }
            try take(try reader.string(name) ?? "", as: known)
        }
    }

    private mutating func read(_ parameters: Substring) throws(InvalidInput) {
        for parameter in parameters.split(separator: "&") {
            let parts = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = Name(rawValue: String(percentDecoding: parts[0], plusIsSpace: false))
            else { continue }
            // A `+` is one of a token or of a number.
            try take(String(percentDecoding: parts[1], plusIsSpace: false), as: name)
        }
    }

    /// A proxy writes nothing where it has no value: the same as a parameter that is not there.
    private mutating func take(_ text: String, as name: Name) throws(InvalidInput) {
        if !text.isEmpty { values[name] = try text.storable(name.rawValue) }
    }

    private var isCall: Bool { (values[.event] ?? "call") == "call" }

    func target() throws(InvalidInput) -> Target {
        let named = values[.contact].map(SIPContact.parameters(of:)) ?? [:]
        func value(_ name: Name) throws(InvalidInput) -> String {
            if let text = named[name.rawValue] ?? values[name] { return text }
            guard values[.contact] == nil else { throw InvalidInput(field: "contact", "has no \(name.rawValue)") }
            throw InvalidInput.missing(name.rawValue)
        }
        let provider = try value(.provider).lowercased()
        // Without one the only platform of the token's type is meant.
        let parameter = values[.contact] == nil ? values[.parameter] ?? "" : try value(.parameter)
        let contact = SIPContact(
            provider: Self.providers[provider] ?? provider, parameter: parameter, token: try value(.token))
        var report = AcrobitsReport()
        contact.add(to: &report)
        guard let pair = isCall ? report.calls ?? report.other : report.other ?? report.calls else {
            throw InvalidInput(
                field: contact.isKnown ? "pn-prid" : "pn-provider",
                contact.isKnown ? "is no token" : "is none of apns, apns.dev and fcm")
        }
        let kind: PlatformKind = !contact.isApple ? .androidFCM : pair == report.calls ? .apple(.voip) : .ios
        return Target(
            token: pair.token.text, kind: kind, mode: contact.isOfDevelopment ? .development : nil,
            names: [contact.parameter, pair.appID ?? ""])
    }

    /// The names of Flexisip's `$type`.
    private static let providers = ["apple": "apns", "firebase": "fcm", "google": "fcm"]

    /// A proxy that repeats a request for the same call wakes the device once.
    func id(of endpoint: Key<OpenEndpoint>, _ target: Target) -> UUID? {
        values[.callID].map { TokenGateway.id(of: endpoint, ["sip", target.token, $0, values[.event] ?? ""]) }
    }

    func expiry(at now: Instant) -> Instant { now + (isCall ? ApplePush.callTimeout : Self.messageLifetime) }

    func content(for kind: PlatformKind) -> Push.Content {
        var data: JSONObject = ["event": .string(values[.event] ?? "call")]
        // `from` belongs to Google.
        for (key, name) in [("caller", Name.from), ("call-id", .callID)] {
            data[key] = text(name).map(JSONValue.string)
        }
        var content: Push.Content
        if let use = kind.appleUse {
            var aps: JSONObject = [:]
            if use == .app, let alert = text(.alert) {
                aps = [
                    "alert": .object(["body": .string(alert)]), "mutable-content": .integer(1),
                    "sound": .string("default"),
                ]
            } else if use == .app {
                aps = ["content-available": .integer(1)]
            }
            data["aps"] = .object(aps)
            content = Push.Content(
                apple: ApplePush(verbatim: data, for: use, isConsiderate: false, isStored: use != .voip))
        } else {
            data["alert"] = text(.alert).map(JSONValue.string)
            content = Push.Content(
                shared: SharedFields([:], data: data), custom: ["android": .object(["priority": .string("high")])])
        }
        content.pacing = .exempt
        return content
    }

    private func text(_ name: Name) -> String? { values[name]?.cut(toBytes: Self.textBytesMax) }
}
