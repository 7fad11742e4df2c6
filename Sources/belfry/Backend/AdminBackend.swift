import BelfryAPI
import BelfryService
import FoundationEssentials

/// The server that a command works on: one whose data is on this machine, or another through its admin API.
///
/// Both return the replies of the admin API, so that a command prints the same wherever the server is.
protocol AdminBackend: Sendable {
    func createApplication(_ draft: ApplicationDraft) async throws -> Admin.ApplicationReply
    func applications() async throws -> [Admin.ApplicationReply]
    func application(_ uuid: UUID) async throws -> ApplicationDetails
    func edit(_ application: UUID, _ edit: ApplicationEdit) async throws -> Admin.ApplicationReply
    func replaceAPIKey(of application: UUID, grace: Duration) async throws -> Admin.ApplicationReply
    func replaceSharedSecret(of application: UUID, grace: Duration) async throws -> Admin.ApplicationReply
    func deleteApplication(_ uuid: UUID, force: Bool) async throws

    func createPlatform(_ platform: PlatformDraft, of application: UUID) async throws -> Admin.PlatformReply
    func platform(_ uuid: UUID) async throws -> Admin.PlatformReply
    func edit(_ platform: UUID, _ edit: PlatformEdit) async throws -> Admin.PlatformReply
    /// Returns the names of the fields that stayed as they were.
    func replaceCredentials(of platform: UUID, with credentials: [String: JSONValue]) async throws -> [String]
    func testCredentials(of platform: UUID) async throws -> Admin.CredentialsTestReply
    func resume(_ platform: UUID) async throws
    func setWebAccess(of platform: UUID, _ edit: WebAccessEdit) async throws -> Admin.PlatformReply
    func endWebAccess(of platform: UUID) async throws

    func createChannel(_ storage: String, on platform: UUID) async throws -> Admin.ChannelReply
    func channels(on platform: UUID) async throws -> [String]
    func channel(_ id: String, on platform: UUID) async throws -> Admin.ChannelReply
    func deleteChannel(_ id: String, on platform: UUID) async throws

    func push(_ draft: PushDraft, of application: UUID) async throws -> CreatedPush
    /// Writes off the unreadable batches of a push; returns how many devices were skipped.
    func writeOff(_ receipt: UUID) async throws -> Admin.WriteOffReply

    func nodes() async throws -> [Admin.NodeReply]
    /// Why nothing is sent at present; nil while a server works.
    func serverAbsence() async throws -> String?

    /// Asks the admin API; nil where it answers with no body.
    ///
    /// - Parameter path: below `/admin/v1`, with its query.
    func ask(_ method: String, _ path: String, _ body: JSONObject?) async throws -> JSONValue?
}

extension AdminBackend {
    /// A reply of the admin API in its own type.
    func read<Reply: Decodable>(_ path: String) async throws -> Reply {
        try await answer("GET", path, nil)
    }

    func answer<Reply: Decodable>(
        _ method: String, _ path: String, _ body: JSONObject?
    ) async throws -> Reply {
        let value = try await ask(method, path, body) ?? .null
        return try JSONDecoder().decode(Reply.self, from: Data(value.encoded))
    }

    /// Whether the admin API answers with anything but 404.
    func has(_ method: String, _ path: String) async throws -> Bool {
        do {
            _ = try await ask(method, path, nil)
            return true
        } catch let error as APIError where error.isMissing {
            return false
        } catch let error as AdminFault where error.status == 404 {
            return false
        }
    }

    func receipt(_ id: UUID) async throws -> Admin.ReceiptReply { try await read("pushes/\(id.lowercased)") }

    func answer(of device: UUID, in receipt: UUID) async throws -> Admin.DeviceAnswerReply {
        try await read("pushes/\(receipt.lowercased)/devices/\(device.lowercased)")
    }
}

/// An application as given on the command line.
struct ApplicationDraft: Sendable {
    let name: String
    var description: String?
    var tenant: UUID?
    var uuid: UUID?
    var apiKey: String?
    var sharedSecret: String?
}

/// A platform as given on the command line.
struct PlatformDraft: Sendable {
    let kind: PlatformKind
    let mode: Platform.Mode?
    let name: String
    var description: String?
    var uuid: UUID?
    var secret: String?
    let credentials: [String: JSONValue]
}

/// The members of a push request, as the admin API takes them.
typealias PushDraft = JSONObject

/// The result of a push request: a push, or a schedule where it waits for its time.
struct CreatedPush: Codable, Sendable {
    var receipt_id: String?
    var schedule_id: String?
    /// Names of the target that no device has.
    var unmatched: Admin.UnmatchedReply?
    /// The platforms that refuse it for its size.
    var too_large: [String]?
}
