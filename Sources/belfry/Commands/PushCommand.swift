import ArgumentParser
import BelfryService
import Foundation

struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push", abstract: "Send a push, now, at a set time, or again and again.",
        discussion: """
            Its recipients are named by exactly one of --everyone, --topic, --user, --device, --channel and --where, which takes an \
            expression such as 'topic:news -topic:sports version>=5'. docs/Pushing.md leads through every kind of push.

            With --update the push takes the place of an earlier one, on the devices that this went to: docs/Pushing.md, "Updating and \
            retracting".

            With --follow the exit status is 0 when every device has its answer, 2 when a platform is parked or a row is damaged and \
            the rest waits for a person, and 3 when a name of the target matched nothing.

            --title to --thread are shown by each platform in its own way. --custom and --apns say what each platform's devices get, in the provider's own words:
            '{"ios": {"alert": "Hi", "badge": 1}}', or '{"type": "background", "payload": {"order": 17}}' for --apns.
            """)

    @OptionGroup var backend: BackendOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var application: AppOption

    @Flag(help: "To all devices of the application.") var everyone = false
    @Option(help: "To the devices of a topic; may be given several times.") var topic: [String] = []
    @Option(help: "To the devices of a custom user id; may be given several times.") var user: [String] = []
    @Option(help: "To a device, by its UUID; may be given several times.", transform: UUID.parse) var device: [UUID] =
        []
    @Option(
        help: "To a broadcast channel, by its id, or a topic of Firebase, as /topics/news; may be given several times.")
    var channel: [String] = []
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp("To the devices that an expression means; see docs/Audiences.md.", valueName: "expression"))
    var expression: String?
    @Flag(help: "A schedule takes the segments of --where as they are now, not as they are when it sends.")
    var segmentsNow = false
    @Flag(help: "Count the devices that --where means, and send nothing.") var count = false
    @Option(help: "Only on platforms of a type, such as ios; may be given several times.") var platform: [String] = []
    @Flag(help: "Do not ask before a push to everyone; scripts need it.") var yes = false
    @Option(
        help: ArgumentHelp("In the place of an earlier push, on its devices.", valueName: "receipt-id"),
        transform: UUID.parseReceipt)
    var update: UUID?

    @Option(help: "The title.") var title: String?
    @Option(help: "The text.") var body: String?
    @Option(help: ArgumentHelp("A picture, by its https URL.", valueName: "url")) var image: String?
    @Option(help: ArgumentHelp("What a tap opens: a page, or a place in the app.", valueName: "url")) var link: String?
    @Option(help: "default, or the name of a sound of the app.") var sound: String?
    @Option(help: ArgumentHelp("An object for the app.", valueName: "json|@file")) var data: String?
    @Option(help: "The category of its buttons on Apple's devices, the action of a tap on Android.")
    var category: String?
    @Option(help: "The notification channel on Android.") var notificationChannel: String?
    @Option(help: "Replaces an earlier push with the same key.") var collapseKey: String?
    @Option(help: "Apple's devices group the notifications of one thread.") var thread: String?
    @Option(help: ArgumentHelp("What the devices of each platform type get.", valueName: "json|@file"))
    var custom: String?
    @Option(help: ArgumentHelp("What Apple's devices get.", valueName: "json|@file")) var apns: String?

    @Option(help: "The number on the app's icon, or such as +1 to count it up on each device.") var badge: String?
    @Option(
        help: ArgumentHelp(
            "Texts in other languages, such as '{\"de\": {\"body\": \"Hallo\"}}'.", valueName: "json|@file"))
    var translations: String?
    @Flag(help: "The texts have placeholders such as {{user.name}}, filled for each device.") var template = false
    @Option(
        help: ArgumentHelp(
            "A saved template, or a version such as welcome@3. The options of this push go before its fields.",
            valueName: "name"))
    var fromTemplate: String?
    @Option(help: ArgumentHelp("The language of the texts, which plurals and dates follow.", valueName: "tag"))
    var language: String?
    @Option(
        help: ArgumentHelp(
            "Values of placeholders for all devices: '{\"count\": 3}' fills {{values.count}}.", valueName: "json|@file")
    )
    var values: String?

    @Option(help: ArgumentHelp("When to send it, such as 2027-01-31T09:00:00Z. [default: now]", valueName: "time"))
    var sendAt: String?
    @Option(
        help: ArgumentHelp(
            "When to send it by the clocks of each recipient, such as 2026-12-24T09:00.", valueName: "local time"))
    var sendAtLocal: String?
    @Option(
        help: ArgumentHelp(
            "What devices get whose clocks are past --send-at-local, or past the first time of --local: send, skip or next_day. [default: send, with --local skip]"
        ))
    var past: String?
    @Option(help: ArgumentHelp("Of devices whose time zone is not known. [default: UTC]", valueName: "zone"))
    var defaultZone: String?
    @OptionGroup var recurrence: RecurrenceOptions
    @Option(help: ArgumentHelp("After this time no device is notified any more.", valueName: "time"))
    var expiresAt: String?
    @Option(help: "urgent, normal or bulk. [default: urgent for a few devices, else normal]") var urgency: String?
    @Option(
        help:
            "What the push is about, such as marketing: frequency caps count by it, and transactional ones are exempt from them and from quiet hours."
    )
    var kind: String?
    @Option(help: ArgumentHelp("The most devices that are told in a minute.", valueName: "devices"))
    var throttle: Int?
    @Option(
        help: ArgumentHelp(
            "Send it again to those who have not opened it: the time between, such as PT10M.", valueName: "span"))
    var remindEvery: String?
    @Option(help: ArgumentHelp("With --remind-every: the most reminders, 1 to 50.", valueName: "count"))
    var remindTimes: Int?
    @Option(
        help: ArgumentHelp(
            "With --send-at or --every: only if no other push was sent for so long, such as P1D. An alarm for what did not happen.",
            valueName: "span"))
    var unlessSent: String?
    @Option(
        help: ArgumentHelp("With --unless-sent: the kind of the pushes that count. [default: all]", valueName: "kind"))
    var unlessKind: String?
    @Flag(help: "Never send a device a second copy after a crash, even if it may have missed the first.")
    var atMostOnce = false
    @Flag(help: "Show the progress until every device has its answer.") var follow = false

    func validate() throws {
        guard !count || expression != nil else { throw ValidationError("--count counts what --where means") }
        guard count || [title, body, data, custom, apns, badge, fromTemplate].contains(where: { $0 != nil }) else {
            throw ValidationError("give --title, --body, --data, --custom, --apns, --badge or --from-template")
        }
        let names = [
            everyone, !topic.isEmpty, !user.isEmpty, !device.isEmpty, !channel.isEmpty, expression != nil,
            update != nil,
        ]
        guard names.count(where: { $0 }) == 1 else {
            throw ValidationError(
                "give exactly one of --everyone, --topic, --user, --device, --channel, --where and --update")
        }
        guard
            update == nil
                || platform.isEmpty && sendAt == nil && sendAtLocal == nil && recurrence.every == nil && !follow
        else {
            throw ValidationError(
                "--update is sent now, to the devices of the first push: it goes with neither --platform nor a time nor --follow"
            )
        }
        guard platform.isEmpty || device.isEmpty && channel.isEmpty && expression == nil else {
            throw ValidationError(
                "--platform narrows --everyone, --topic and --user; a device and a channel have one platform, and --where has a "
                    + "term for it: platform:ios")
        }
        guard sendAtLocal != nil || defaultZone == nil && (past == nil || recurrence.local) else {
            throw ValidationError("--past and --default-zone go with --send-at-local; --past goes with --local too")
        }
        guard sendAtLocal == nil || sendAt == nil && recurrence.every == nil && !follow else {
            throw ValidationError(
                "--send-at-local goes with neither --send-at nor --every nor --follow; --every --local goes by the clocks of each recipient"
            )
        }
        guard !follow || sendAt == nil && recurrence.every == nil else {
            throw ValidationError("--follow follows a push that is sent now; --send-at and --every make a schedule")
        }
        guard (remindEvery == nil) == (remindTimes == nil) else {
            throw ValidationError("--remind-every and --remind-times go together")
        }
        guard unlessSent != nil || unlessKind == nil else {
            throw ValidationError("--unless-kind goes with --unless-sent")
        }
        guard sendAt == nil || recurrence.every == nil else {
            throw ValidationError("--send-at and --every exclude each other: --start is the first time")
        }
    }

    func run() async throws {
        let draft = try count ? [:] : draft()
        try await backend.withBackend { backend in
            if let update {
                let updated: Admin.FollowingReply = try await backend.answer(
                    "POST", "pushes/\(update.lowercased)/update", draft)
                updated.too_large?.forEach(Notice.show)
                return try output.json ? Output.json(updated) : updated.show("sent the update")
            }
            let app = try await application.uuid(from: backend)
            if count {
                let body: JSONObject = ["where": .string(expression ?? "")]
                return try AudienceCount.show(
                    try await backend.ask("POST", "apps/\(app.lowercased)/audience/count", body), output)
            }
            if everyone, !yes { try await confirm(app, backend) }
            let created: CreatedPush = try await backend.answer("POST", "apps/\(app.lowercased)/pushes", draft)
            // The push is accepted: a failing remark must not make the command fail.
            // Following it says so by itself.
            if !follow || output.json, let absence = try? await backend.serverAbsence() {
                Notice.show("\(absence): it is sent once one starts")
            }
            created.too_large?.forEach(Notice.show)
            // Names of the target that no device has are usually mistyped.
            if !follow { created.unmatched?.warnings.forEach(Notice.show) }
            guard follow, let id = created.receipt_id.flatMap({ UUID(uuidString: $0) }) else {
                return try show(created)
            }
            StandardError.write("receipt_id  \(id.lowercased)\n")
            let end = try await Follower(backend: backend, isQuiet: output.json).follow(id)
            try end.receipt.show(json: output.json)
            if let code = end.code { throw code }
        }
    }

    /// The body of the admin API's request: `POST /admin/v1/apps/{app_uuid}/pushes`.
    private func draft() throws -> JSONObject {
        let texts = [
            "title": title, "body": body, "image": image, "link": link, "sound": sound, "category": category,
            "channel": notificationChannel, "collapse_key": collapseKey, "thread": thread,
        ]
        var message = JSONObject(texts.compactMapValues(\.self))
        message["data"] = try json(data, "--data")
        message["custom"] = try json(custom, "--custom")
        warnOfStrangers(in: message["custom"])
        message["apns"] = try json(apns, "--apns")
        message["badge"] = badge.map { text in
            text.hasPrefix("+") ? .string(text) : Int64(text).map(JSONValue.integer) ?? .string(text)
        }
        message["translations"] = try json(translations, "--translations")
        if template { message["template"] = .bool(true) }
        message["language"] = language.map(JSONValue.string)
        message["values"] = try json(values, "--values")
        var draft: JSONObject = ["message": .object(message)]
        if update == nil { draft["target"] = .object(target) }
        draft["template"] = fromTemplate.map(JSONValue.string)
        draft["send_at"] = sendAt.map(JSONValue.string)
        draft["recurrence"] = recurrence.value(past: past)
        if let sendAtLocal {
            var local: JSONObject = ["local": .string(sendAtLocal)]
            local["past"] = past.map(JSONValue.string)
            local["time_zone"] = defaultZone.map(JSONValue.string)
            draft["send_at"] = .object(local)
        }
        draft["expires_at"] = expiresAt.map(JSONValue.string)
        draft["urgency"] = urgency.map(JSONValue.string)
        if atMostOnce { draft["at_most_once"] = .bool(true) }
        draft["kind"] = kind.map(JSONValue.string)
        draft["throttle_per_minute"] = throttle.map { .integer(Int64($0)) }
        if let remindEvery, let remindTimes {
            draft["reminders"] = .object(["every": .string(remindEvery), "times": .integer(Int64(remindTimes))])
        }
        if let unlessSent {
            var condition: JSONObject = ["within": .string(unlessSent)]
            condition["kind"] = unlessKind.map(JSONValue.string)
            draft["unless_sent"] = .object(condition)
        }
        return draft
    }

    private var target: JSONObject {
        platform.isEmpty ? recipients : recipients.merging(["platforms": .strings(platform)]) { $1 }
    }

    private var recipients: JSONObject {
        if everyone { return ["everyone": .bool(true)] }
        if let expression {
            return segmentsNow
                ? ["where": .string(expression), "segments": .string("now")] : ["where": .string(expression)]
        }
        if !topic.isEmpty { return ["topics": .array(topic.map(JSONValue.string))] }
        if !user.isEmpty { return ["custom_user_ids": .array(user.map(JSONValue.string))] }
        if !channel.isEmpty { return ["channels": .array(channel.map(JSONValue.string))] }
        return ["devices": .array(device.map { .string($0.lowercased) })]
    }

    /// Asks at a terminal before the push reaches every device; elsewhere only `--yes` lets it through.
    private func confirm(_ app: UUID, _ backend: AdminBackend) async throws {
        guard isatty(STDIN_FILENO) == 1 else {
            throw ValidationError("--everyone asks before it sends; where it cannot ask, --yes says so beforehand")
        }
        let details = try await backend.application(app)
        let meant = details.platforms.filter { platform.isEmpty || platform.contains($0.type) }
        let devices = meant.reduce(0) { $0 + $1.devices }
        let inactive = meant.compactMap(\.inactive_devices)
        let name = details.application.name
        let question =
            inactive.count == meant.count
            ? "Send to all \((devices - inactive.reduce(0, +)).grouped) active devices of \(name)? [y/N] "
            : "Send to all active devices of \(name)? It has \(devices.grouped), inactive ones included. [y/N] "
        StandardError.write(question.withoutControls())
        guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
            StandardError.write("nothing was sent\n")
            throw ExitCode.failure
        }
    }

    /// Warns of parts of `--custom` that belong to no type of platform. They are stored with the push and never used.
    private func warnOfStrangers(in custom: JSONValue?) {
        guard case .object(let parts)? = custom else { return }
        for part in parts.keys.sorted() where PlatformKind(rawValue: part) == nil {
            Notice.show(
                "--custom has a part for `\(part)`, which is no type of platform, so nothing reads it; types are "
                    + PlatformKind.allCases.map(\.rawValue).joined(separator: ", "))
        }
    }

    private func json(_ given: String?, _ option: String) throws -> JSONValue? {
        try given.map { try JSONValue.argument($0, called: option) }
    }

    private func show(_ created: CreatedPush) throws {
        if output.json { return try Output.json(created) }
        Output.fields(
            [created.receipt_id.map { ("receipt_id", $0) }, created.schedule_id.map { ("schedule_id", $0) }]
                .compactMap { $0 })
    }
}

/// The result of a push request: a push, or a schedule where it waits for its time.
private struct CreatedPush: Codable, Sendable {
    var receipt_id: String?
    var schedule_id: String?
    /// Names of the target that no device has.
    var unmatched: Admin.UnmatchedReply?
    /// The platforms that refuse it for its size.
    var too_large: [String]?
}

/// Polls a push until it is settled, or waits for a person.
struct Follower {
    let backend: AdminBackend
    let isQuiet: Bool

    private static let pace = Duration.milliseconds(100)
    /// The looks without an answer after which a parked platform or a damaged row is taken as all that the push waits for.
    private static let patience = 20
    /// For how long a server may not answer, as while it is restarted.
    private static let silenceMax = Duration.seconds(60)

    struct End {
        let receipt: Admin.ReceiptReply

        /// The exit status; nil where every device of every name has its answer.
        var code: ExitCode? {
            if !receipt.isSettled { return ExitCode(2) }
            return receipt.unmatched?.isEmpty == false ? ExitCode(3) : nil
        }
    }

    @discardableResult func follow(_ receiptID: UUID) async throws -> End {
        let bar = ProgressBar()
        var answered = -1
        var idleLooks = 0
        var told: Set<String> = []
        var answeredAt = ContinuousClock.now
        while true {
            let receipt: Admin.ReceiptReply
            do {
                receipt = try await backend.receipt(receiptID)
            } catch let fault as AdminFault where fault.isTransient && answeredAt.duration(to: .now) < Self.silenceMax {
                try await Task.sleep(for: Self.pace)
                continue
            }
            answeredAt = .now
            if !isQuiet {
                for words in receipt.waits ?? [] where told.insert(words).inserted { bar.tell("waits  \(words)") }
                for words in receipt.faults where told.insert(words).inserted { bar.tell("unreachable  \(words)") }
                bar.show(receipt)
            }
            idleLooks = receipt.answered == answered ? idleLooks + 1 : 0
            answered = receipt.answered
            if receipt.isSettled || receipt.needsPerson && idleLooks >= Self.patience {
                if !isQuiet { bar.end() }
                return End(receipt: receipt)
            }
            try await Task.sleep(for: Self.pace)
        }
    }
}
