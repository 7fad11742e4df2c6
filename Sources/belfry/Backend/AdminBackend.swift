import BelfryCore
import FoundationEssentials

/// What the commands need of a server: of the one whose data is on this machine, or of another through its admin API.
///
/// Both answer with the same rows, so that a command prints the same wherever the server is.
protocol AdminBackend: Sendable {
    func createApplication(name: String) async throws -> CreatedApplicationRow
    func applications() async throws -> [ApplicationRow]
    func application(_ uuid: UUID) async throws -> ApplicationDetails
    func deleteApplication(_ uuid: UUID, force: Bool) async throws

    func createPlatform(_ platform: PlatformDraft, of application: UUID) async throws -> CreatedPlatformRow
    func platform(_ uuid: UUID) async throws -> PlatformRow
    func replaceCredentials(of platform: UUID, with credentials: [String: JSONValue]) async throws
    func testCredentials(of platform: UUID) async throws -> CredentialsTestRow
    func resume(_ platform: UUID) async throws

    func createChannel(_ storage: String, on platform: UUID) async throws -> CreatedChannelRow
    func channels(on platform: UUID) async throws -> [String]
    func channel(_ id: String, on platform: UUID) async throws -> ChannelRow
    func deleteChannel(_ id: String, on platform: UUID) async throws

    func push(_ draft: PushDraft, of application: UUID) async throws -> UUID
    func receipt(_ id: UUID) async throws -> ReceiptDetails
    func answer(of device: UUID, in receipt: UUID) async throws -> String
    /// Gives up the batches of a push that cannot be read; how many devices were passed over thereby.
    func writeOff(_ receipt: UUID) async throws -> WriteOff

    func nodes() async throws -> [NodeRow]
}

/// A platform as the command line was told of it.
struct PlatformDraft: Sendable {
    let kind: PlatformKind
    let mode: Platform.Mode
    let name: String
    let credentials: [String: JSONValue]
}

/// A push as the command line was told of it.
struct PushDraft: Sendable {
    let body: String?
    /// `message.apns` of the admin API.
    let apns: JSONValue?
    let to: Recipients

    enum Recipients: Sendable {
        case everyone
        case topics([String])
        case devices([UUID])
        /// Broadcast channels, by their ids.
        case channels([String])
    }
}
