import Synchronization

/// Google's legacy side: one request for up to a thousand devices, and a result for each in a 200.
package final class GCMService: SimulatedService {
    private let configuration: GCMConfiguration
    private let messages = Atomic<Int>(0)

    package init(_ configuration: GCMConfiguration) {
        self.configuration = configuration
    }

    /// The reasons that appear in a result.
    private static let results: Set = [
        "NotRegistered", "InvalidRegistration", "MismatchSenderId", "MissingRegistration", "MessageTooBig",
        "InvalidDataKey", "InvalidTtl", "InvalidPackageName", "InvalidParameters", "InvalidApnsCredential",
        "DeviceMessageRateExceeded", "TopicsMessageRateExceeded",
    ]

    /// Not an error: the device is notified, and its new token is the `body` of the script.
    private static let canonical = "Canonical"

    package func answer(for reason: String) -> ServiceAnswer? {
        switch reason {
        case "BadRequest": .text(400, "JSON_PARSING_ERROR: Unexpected token\n", reason: reason)
        case "Unauthorized":
            .html(401, "<HTML><HEAD><TITLE>Unauthorized</TITLE></HEAD><BODY>Error 401</BODY></HTML>", reason: reason)
        case "NotFound": .html(404, "<HTML><HEAD><TITLE>Not Found</TITLE></HEAD></HTML>", reason: reason)
        case "Unavailable": .text(503, "Service Unavailable", reason: reason)
        case "InternalServerError": .text(500, "Internal Server Error", reason: reason)
        case Self.canonical: ServiceAnswer(200)
        case _ where Self.results.contains(reason): body([Result(error: reason)], reason: reason)
        default: nil
        }
    }

    package func reply(to request: ServiceRequest, context: inout ServiceContext) -> ServiceReply {
        guard request.method == "POST", ["/gcm/send", "/fcm/send"].contains(request.path) else {
            return refuse("NotFound")
        }
        guard request.field("authorization") == "key=\(configuration.serverKey)" else {
            return refuse("Unauthorized")
        }
        do throws(GCMFormError) {
            let isForm = request.isForm
            let message = isForm ? try GCMMessage(form: request.form) : try GCMMessage(json: request.body)
            let payload = context.keepsPayloads ? String(decoding: request.body, as: UTF8.self) : ""
            return send(message, isForm: isForm, payload: payload, &context)
        } catch {
            return ServiceReply(
                .text(error.message.hasPrefix("Error=") ? 200 : 400, error.message + "\n", reason: "BadRequest"))
        }
    }

    // MARK: - Results

    private struct Result {
        var error: String?
        var messageID = ""
        var canonical: String?
    }

    private func send(_ message: GCMMessage, isForm: Bool, payload: String, _ context: inout ServiceContext)
        -> ServiceReply
    {
        var results: [Result] = []
        var deliveries: [ServiceDelivery] = []
        for token in message.targets {
            let result = result(for: token, message, &context)
            results.append(result)
            guard !message.isDryRun || result.error != nil else { continue }
            deliveries.append(ServiceDelivery(token: token, reason: result.error, payload: payload))
        }
        let answer =
            if isForm { text(results[0]) } else if message.isForDevices { body(results) } else { topicBody(results[0]) }
        var reply = ServiceReply(answer, deliveries: deliveries)
        reply.isPush = !deliveries.isEmpty
        return reply
    }

    private func result(for token: String, _ message: GCMMessage, _ context: inout ServiceContext) -> Result {
        if let complaint = message.complaint { return Result(error: complaint) }
        if token.isEmpty { return Result(error: "MissingRegistration") }
        if token.contains(where: \.isWhitespace) { return Result(error: "InvalidRegistration") }
        let id = message.isDryRun ? "fake_message_id" : nextID(at: context.now)
        guard let scripted = context.scripted(for: token), let reason = scripted.reason else {
            return Result(messageID: id)
        }
        return reason == Self.canonical ? Result(messageID: id, canonical: scripted.body) : Result(error: reason)
    }

    private func nextID(at now: Duration) -> String {
        "0:\(now.milliseconds)%\(messages.add(1, ordering: .relaxed).newValue)"
    }

    private func body(_ results: [Result], reason: String? = nil) -> ServiceAnswer {
        let failures = results.count { $0.error != nil }
        let canonicals = results.count { $0.canonical != nil }
        let list = results.map { result in
            if let error = result.error { return "{\"error\":\(error.quoted)}" }
            let canonical = result.canonical.map { ",\"registration_id\":\($0.quoted)" } ?? ""
            return "{\"message_id\":\(result.messageID.quoted)\(canonical)}"
        }
        return .json(
            200,
            #"{"multicast_id":\#(nextMulticast()),"success":\#(results.count - failures),"failure":\#(failures),"#
                + #""canonical_ids":\#(canonicals),"results":[\#(list.joined(separator: ","))]}"#, reason: reason)
    }

    private func nextMulticast() -> Int { messages.add(1, ordering: .relaxed).newValue }

    private func topicBody(_ result: Result) -> ServiceAnswer {
        if let error = result.error { return .json(200, #"{"error":"\#(error)"}"#) }
        return .json(200, #"{"message_id":\#(nextMulticast())}"#)
    }

    /// The answer to a form is plain text.
    private func text(_ result: Result) -> ServiceAnswer {
        if let error = result.error { return .text(200, "Error=\(error)") }
        return .text(200, "id=\(result.messageID)" + (result.canonical.map { "\nregistration_id=\($0)" } ?? ""))
    }
}

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

/// A downstream message, from JSON or from a form. Source: Firebase, "Legacy HTTP server protocol".
struct GCMMessage {
    static let tokensMax = 1000
    static let bytesMax = 4096
    static let topicBytesMax = 2048
    static let ttlSecondsMax: Int64 = 2_419_200

    /// The recipients; `/topics/…` and conditions count as one.
    var targets: [String]
    var isForDevices: Bool
    var isDryRun: Bool
    /// The fault reported for each of its devices; nil when there is none.
    var complaint: String?

    /// - Throws: the text of the protocol's 400.
    init(json bytes: [UInt8]) throws(GCMFormError) {
        guard let json = JSON(bytes), json.members != nil else { throw .init("JSON_PARSING_ERROR: Unexpected token") }
        if let ids = json["registration_ids"] {
            guard let tokens = ids.strings else { throw .init("\"registration_ids\" field must be a JSON array") }
            guard (1...Self.tokensMax).contains(tokens.count) else {
                throw .init("Number of messages on bulk (\(tokens.count)) exceeds maximum allowed (1000)")
            }
            guard json["to"] == nil else {
                throw .init("Must use either \"registration_ids\" field or \"to\", not both")
            }
            targets = tokens
            isForDevices = true
        } else {
            guard let target = json["to"]?.string ?? json["condition"]?.string else { throw .init("Missing \"to\"") }
            targets = [target]
            isForDevices = json["condition"] == nil && !target.hasPrefix("/topics/")
        }
        if let data = json["data"], data.members == nil { throw .init("Field \"data\" must be a JSON object") }
        if let priority = json["priority"]?.string, !["normal", "high"].contains(priority) {
            throw .init("Invalid value for \"priority\"")
        }
        isDryRun = json["dry_run"]?.bool ?? false
        complaint = Self.complaint(
            keys: (json["data"]?.members ?? []).map(\.key), ttl: json["time_to_live"],
            bytes: Self.bytes(of: json["data"]) + Self.bytes(of: json["notification"]),
            most: isForDevices ? Self.bytesMax : Self.topicBytesMax)
    }

    init(form: [String: String]) throws(GCMFormError) {
        guard let token = form["registration_id"], !token.isEmpty else { throw .init("Error=MissingRegistration") }
        let data = form.filter { $0.key.hasPrefix("data.") }
        targets = [token]
        isForDevices = true
        isDryRun = form["dry_run"] == "true" || form["dry_run"] == "1"
        complaint = Self.complaint(
            keys: data.keys.map { String($0.dropFirst(5)) },
            ttl: form["time_to_live"].map { Int64($0).map { .number(Double($0)) } ?? .string($0) },
            bytes: data.reduce(0) { $0 + $1.key.utf8.count - 5 + $1.value.utf8.count }, most: Self.bytesMax)
    }

    private static func complaint(keys: [String], ttl: JSON?, bytes: Int, most: Int) -> String? {
        if keys.contains(where: { $0 == "from" || $0.hasPrefix("google.") || $0.hasPrefix("gcm.") }) {
            return "InvalidDataKey"
        }
        if let ttl, !(0...Self.ttlSecondsMax).contains(ttl.integer ?? -1) { return "InvalidTtl" }
        return bytes > most ? "MessageTooBig" : nil
    }

    private static func bytes(of value: JSON?) -> Int {
        (value?.members ?? []).reduce(0) { $0 + $1.key.utf8.count + ($1.value.string?.utf8.count ?? 8) }
    }
}

/// A request that is refused as a whole.
struct GCMFormError: Error {
    var message: String

    init(_ message: String) {
        self.message = message
    }
}
