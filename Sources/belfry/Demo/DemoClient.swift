import AsyncHTTPClient
import BelfryServer
import BelfryService
import Foundation
import NIOCore
import NIOHTTP1

/// The apps and the back end of the demo, which use only the server's HTTP API.
struct DemoClient: Sendable {
    let base: String
    let application: CreatedApplication
    let platforms: [PlatformKind: CreatedPlatform]

    let http = HTTPClient(eventLoopGroupProvider: .singleton)

    private static let registrationsAtOnce = 64

    init(
        base: String, application: CreatedApplication,
        platforms: [PlatformKind: CreatedPlatform]
    ) {
        self.base = base
        self.application = application
        self.platforms = platforms
    }

    /// Registers all devices and returns the UUID of the addressee of the mail.
    func register(_ crowd: DemoCrowd) async throws -> UUID {
        let start = ContinuousClock.now
        print("Registering \(crowd.members.count.grouped) devices …")
        let addressee = try await register(crowd.addressee)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, member) in crowd.members.dropFirst().enumerated() {
                if number >= Self.registrationsAtOnce { try await group.next() }
                group.addTask { _ = try await register(member) }
            }
            try await group.waitForAll()
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        print("Registered in \(seconds.formatted(.number.precision(.fractionLength(1)))) s.\n")
        return addressee
    }

    /// Sends a push and returns its receipt.
    func push(_ body: String) async throws -> UUID {
        struct Answer: Decodable { let receipt_id: UUID }
        let answer = try await post("/v1/push", body, credentials: sender, as: Answer.self)
        return answer.receipt_id
    }

    func shutdown() async throws { try await http.shutdown() }

    private func register(_ member: DemoCrowd.Member) async throws -> UUID {
        struct Answer: Decodable { let device_uuid: UUID }
        let body = try JSONEncoder().encode(Registration(member))
        return try await post(
            "/v1/registration", String(decoding: body, as: UTF8.self), credentials: app(member.kind), as: Answer.self
        ).device_uuid
    }

    private struct Registration: Encodable {
        let registration_token: String
        let os: String
        let os_version = "17.5"
        let device_alias: String
        let device_model = "demo"
        let device_manufacturer = "Belfry"
        let tags: [String]

        init(_ member: DemoCrowd.Member) {
            registration_token = member.token
            os = member.kind.rawValue
            device_alias = "Device \(member.index)"
            tags = member.topics
        }
    }

    private var sender: String { "\(application.application.uuid.lowercased):\(application.apiKey)" }
    private func app(_ kind: PlatformKind) -> String {
        platforms[kind].map { "\($0.platform.uuid.lowercased):\($0.secret)" } ?? ""
    }

    private func post<Answer: Decodable>(
        _ path: String, _ body: String, credentials: String, as type: Answer.Type
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: base + path)
        request.method = .POST
        request.headers = [
            "Authorization": "Basic \(Data(credentials.utf8).base64EncodedString())",
            "Content-Type": "application/json",
        ]
        request.body = .bytes(ByteBuffer(string: body))
        let response = try await http.execute(request, timeout: .seconds(30))
        let bytes = try await response.body.collect(upTo: 1 << 20)
        guard response.status == .ok else {
            throw DemoFault("POST \(path) was answered \(response.status): \(String(buffer: bytes))")
        }
        return try JSONDecoder().decode(type, from: Data(bytes.readableBytesView))
    }

    /// Suggests commands to try next, ready to paste.
    func explain(addressee: UUID, management: String, dataDirectory: String) {
        print(
            """

            The server stays up; end it with Ctrl-C. Try next:

              # everything in a browser: make yourself an account, and open \(base) with the path that it prints
              \(CommandLine.arguments[0]) admin user create --data-directory \(dataDirectory) --email you@example.org --role operator

              # what happens to pushes, as it happens; in a terminal of its own
              curl -N -H "Authorization: Bearer $(cat \(dataDirectory)/admin.key)" \\
                \(base)/admin/v1/apps/\(application.application.uuid.lowercased)/events

              # a push to a topic
              curl -u \(sender) \(base)/v1/push \\
                -d '{"message":{"body":"Hello"},"target":{"topics":["dairy"]}}'

              # a push to one device
              curl -u \(sender) \(base)/v1/push \\
                -d '{"message":{"body":"Hello you"},"target":{"devices":["\(addressee.lowercased)"]}}'

              # what became of it, with the receipt_id that was answered
              \(CommandLine.arguments[0]) receipt --data-directory \(dataDirectory) RECEIPT_ID

              # a device of your own
              curl -u \(app(.ios)) \(base)/v1/registration \\
                -d '{"registration_token":"\(String(repeating: "0a", count: 32))","os":"ios","tags":["dairy"]}'

              # how many devices there are; how the server is
              curl -u \(app(.ios)) \(base)/v1/registration/count/
              curl \(management)/metrics

              application  \(application.application.uuid.lowercased)
              api key      \(application.apiKey)
              platforms, with their secrets:
            """)
        for (kind, created) in platforms.sorted(by: { $0.value.platform.key < $1.value.platform.key }) {
            print("    \(kind.rawValue.padded(to: 12)) \(created.platform.uuid.lowercased):\(created.secret)")
        }
    }
}

struct DemoFault: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
