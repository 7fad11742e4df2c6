import ArgumentParser
import BelfryAPI
import BelfryCore
import FoundationEssentials

struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push", abstract: "Send a push.",
        discussion: """
            --apns says what Apple's devices get, in Apple's own words: a push type and a payload, such as
            '{"type": "background", "payload": {"order": 17}}', or @file. docs/AdminAPI.md, "Apple's devices", has them all.
            """)

    @OptionGroup var backend: BackendOptions
    @OptionGroup var output: OutputOptions
    @Option(help: "The application's UUID.", transform: UUID.parse) var app: UUID
    @Option(help: "A topic; may be given several times. Without one the push goes to everyone.") var topic: [String] =
        []
    @Option(help: "A device's UUID; may be given several times.", transform: UUID.parse) var device: [UUID] = []
    @Option(help: "A broadcast channel's id; may be given several times.") var channel: [String] = []
    @Option(help: "The text.") var body: String?
    @Option(help: ArgumentHelp("What Apple's devices get.", valueName: "json|@file")) var apns: String?
    @Flag(help: "Show the progress until every device has its answer.") var follow = false

    func validate() throws {
        guard body != nil || apns != nil else { throw ValidationError("give --body or --apns, or both") }
        guard [topic.isEmpty, device.isEmpty, channel.isEmpty].filter({ !$0 }).count <= 1 else {
            throw ValidationError("give --topic, --device or --channel")
        }
    }

    func run() async throws {
        let draft = PushDraft(body: body, apns: try apnsRead(), to: recipients)
        try await backend.withBackend { backend in
            let created = try await backend.push(draft, of: app)
            guard follow, let id = UUID(uuidString: created.receipt_id) else { return try show(created) }
            try await Follower(backend: backend, isQuiet: output.json).follow(id).show(json: output.json)
        }
    }

    private var recipients: PushDraft.Recipients {
        if !device.isEmpty { return .devices(device) }
        if !channel.isEmpty { return .channels(channel) }
        return topic.isEmpty ? .everyone : .topics(topic)
    }

    private func apnsRead() throws -> JSONValue? {
        guard let apns else { return nil }
        var bytes = Data(apns.utf8)
        if apns.hasPrefix("@") {
            let path = String(apns.dropFirst())
            guard let data = FileManager.default.contents(atPath: path) else {
                throw ValidationError("\(path) cannot be read")
            }
            bytes = data
        }
        do {
            return try JSONValue(json: bytes, field: "--apns")
        } catch {
            throw ValidationError("--apns cannot be read: \(error)")
        }
    }

    private func show(_ created: Admin.CreatedPushReply) throws {
        if output.json { return try Output.json(created) }
        Output.fields([("receipt_id", created.receipt_id)])
    }
}

/// Looks at a push again and again until it is settled.
struct Follower {
    let backend: any AdminBackend
    let isQuiet: Bool

    private static let pace = Duration.milliseconds(100)

    @discardableResult func follow(_ receiptID: UUID) async throws -> Admin.ReceiptReply {
        let bar = ProgressBar()
        while true {
            let receipt = try await backend.receipt(receiptID)
            if !isQuiet { bar.show(receipt) }
            if receipt.isSettled {
                if !isQuiet { bar.end() }
                return receipt
            }
            try await Task.sleep(for: Self.pace)
        }
    }
}
