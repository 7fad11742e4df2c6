import BelfryServer
import BelfryService
import Foundation
import NIOHTTP1
import Outbound

/// The apps and the back end of the demo, which use only the server's HTTP API.
struct DemoClient: Sendable {
    let base: String
    let application: CreatedApplication
    let platforms: [PlatformKind: CreatedPlatform]

    private let http = CommandHTTP(connectDeadline: .seconds(10), deadline: .seconds(120))

    private static let registrationsAtOnce = 64

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

    func shutdown() async { await http.shutdown() }

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
        let answer = try await send("POST", path, body, credentials: credentials)
        return try JSONDecoder().decode(type, from: Data(answer))
    }

    /// Sends a request and returns the answer's body. Throws unless the answer is 200.
    ///
    /// - Parameter credentials: user and password, with a colon between them.
    @discardableResult
    func send(
        _ method: String, _ path: String, _ body: String? = nil, credentials: String? = nil
    ) async throws -> [UInt8] {
        var headers: [String: String] = [:]
        headers["authorization"] = credentials.map { "Basic \(Data($0.utf8).base64EncodedString())" }
        headers["content-type"] = body.map { _ in "application/json" }
        let response = try await http.ask(method, base + path, headers, Array((body ?? "").utf8))
        guard response.status == 200 else {
            let status = HTTPResponseStatus(statusCode: response.status)
            throw DemoFault(
                "\(method) \(path) was answered \(status): \(String(decoding: response.body, as: UTF8.self))")
        }
        return response.body
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

/// The devices of the demo: their platforms and topics, and which tokens are dead or malformed.
struct DemoCrowd: Sendable {
    struct Member: Sendable {
        let index: Int
        let kind: PlatformKind
        let token: String
        let topics: [String]
        let fate: Fate
    }

    /// The simulated provider's answer for a device's token.
    enum Fate: Sendable { case taken, gone, refused }

    let members: [Member]

    /// Creates the devices, and scripts their providers' answers for them.
    init(count: Int, providers: DemoProviders, now: Instant) {
        let owners = providers.all.enumerated().flatMap { Array(repeating: $0.offset, count: $0.element.share) }
        var indexes = Array(repeating: [Int](), count: providers.all.count)
        for index in 0..<count { indexes[owners[index % owners.count]].append(index) }
        var members: [Member] = []
        members.reserveCapacity(count)
        for ((provider, _), indexes) in zip(providers.all, indexes) {
            var fates: [String: Fate] = [:]
            for (index, token) in zip(indexes, provider.tokens(indexes.count)) {
                let fate = Self.fate(index, among: provider.knows)
                if fate != .taken { fates[token] = fate }
                members.append(
                    Member(index: index, kind: provider.kind, token: token, topics: Self.topics(index), fate: fate))
            }
            provider.arrange(fates, now: now)
        }
        self.members = members
    }

    var addressee: Member { members[0] }

    private static func topics(_ index: Int) -> [String] {
        var topics: [String] = []
        if index / 3 % 10 < 8 { topics.append("local_seminars") }
        if index % 2 == 0 { topics.append("breaking_news") }
        if index % 3 == 0 { topics.append("dairy") }
        if index % 5 == 0 { topics.append("local") }
        return topics
    }

    /// About one in a hundred is gone and one in two hundred refused, on every platform alike.
    private static func fate(_ index: Int, among known: Set<Fate>) -> Fate {
        let fate: Fate =
            switch (index % 100 + index / 100 * 7) % 200 {
            case 42, 142: .gone
            case 77: .refused
            default: .taken
            }
        return known.contains(fate) ? fate : .taken
    }
}
