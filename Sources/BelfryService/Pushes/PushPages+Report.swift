import FoundationEssentials

// The report of a push: how far it is, what came of it, why devices did not get it, and how it compares.

extension PushPages {
    /// The data of a push's page.
    struct PushDetails: Sendable {
        let receipt: Receipt
        /// nil where it cannot be read, or was deleted.
        let request: PushRequest?
        let platforms: [Platform]
        let answers: [Key<Platform>: [Answer: Int]]
        let events: [Key<Platform>: AnalyticsCounts]
        let faults: [PlatformFault]
        /// Sentences of providers on devices that they did not accept at once.
        let words: [String]
        let wanted: WantedAnswer
        let devices: AnswerPage
        /// The devices that were searched for, each with its answer.
        let found: [(device: Device, answer: Answer?)]
        let times: AnswerTimes
        let languages: LanguageCounts
        let openings: [(start: Instant, count: Int)]
        let followUps: [FollowUp]
        /// The schedule of its reminders; nil for none.
        let reminders: Key<Schedule>?
        /// Its line of the audit log, where the person may see that.
        let sender: AuditEntry?
        /// The name of the campaign that sent it.
        let campaign: String?
        /// This push, and those before it.
        let figures: [PushFigures]
        let now: Instant

        var own: PushFigures { figures[0] }
    }

    /// The pushes that one is compared with.
    private static let comparedWith = 5

    func details(
        _ visit: DashboardRequest, _ receipt: Receipt, _ application: Application
    ) async throws -> PushDetails {
        let (store, push) = (visit.services.store, receipt.push.key)
        let wanted = WantedAnswer(visit.query)
        let cursor = visit.number("platform").flatMap { platform in
            visit.number("device").map { AnswerCursor(platform: Key(platform), device: Key($0)) }
        }
        let events = try await store.counts(of: push)
        let compared = try await store.receipts(of: application.key, before: push, limit: Self.comparedWith)
        let summaries = try await visit.summaries(of: [receipt] + compared)
        var figures: [PushFigures] = []
        for one in [receipt] + compared {
            let (key, events) = (one.push.key, try await store.reports(of: one.push.key))
            figures.append(PushFigures(one, events, try await store.reporters(of: key), summaries))
        }
        return PushDetails(
            receipt: receipt, request: try await visit.request(of: receipt),
            platforms: try await store.platforms(of: application.key), answers: try await store.answerCounts(of: push),
            events: events, faults: try await store.connectionFaults(of: push),
            words: try await store.providerWords(of: push), wanted: wanted,
            devices: wanted.text.isEmpty
                ? try await store.answers(
                    in: push, kind: wanted.kind, only: wanted.only, after: cursor, limit: Self.perPage)
                : AnswerPage(answers: [], next: nil),
            found: try await found(wanted.text, in: push, visit, application),
            times: try await store.answerTimes(of: push),
            languages: try await store.languages(of: push, devices: receipt.devices),
            openings: try await store.openings(of: push), followUps: try await store.followUps(of: push),
            reminders: try await store.reminders(of: push),
            sender: visit.may(.administer, Permission.Subject(application))
                ? try await store.auditEntry(of: receipt.push) : nil,
            campaign: try await store.campaign(of: receipt.push), figures: figures, now: visit.services.clock.now)
    }

    /// The device with an id, and the devices of a user.
    private func found(
        _ text: String, in push: Key<Push>, _ visit: DashboardRequest, _ application: Application
    ) async throws -> [(device: Device, answer: Answer?)] {
        guard !text.isEmpty else { return [] }
        var devices = try await visit.services.all.users.devices(of: text, of: application).prefix(Self.perPage)
            .map(\.0)
        if let uuid = UUID(text: text), let own = try await visit.services.store.device(uuid, of: application.key) {
            devices.insert(own.0, at: 0)
        }
        let answers = try await visit.services.store.answers(of: devices, in: [push])[push] ?? [:]
        return devices.map { ($0, answers[$0.key]) }
    }

    static func page(_ details: PushDetails, _ application: Application) -> PageView {
        let (receipt, own) = (details.receipt, details.own)
        let address = receipt.push.address(in: application)
        var page = PageView(details.request?.content.summary ?? "Push", in: application, "Pushes") {
            state(details)
            if own.failed > 0 { causes(details, address) }
            byDevice(details, application, address)
            funnel(details, address)
            byPlatform(details)
            byLanguage(details)
            overTime(details, application)
            openings(details)
            facts(details, application)
            comparison(details, application)
            if let request = details.request { content(request, details, application) }
        }
        page.stats = [
            Stat("Devices", receipt.devices, detail: receipt.isFannedOut ? "" : "so far"),
            Stat("Accepted", own.accepted, detail: own.accepted.share(of: own.devices)),
            Stat("Not delivered", own.failed, detail: own.failed.share(of: own.devices)),
            Stat("Waiting", receipt.count(.pending)),
            Stat("Opened", own.opened, detail: own.opened.share(of: own.accepted)),
        ]
        return page
    }

    /// The facts that a reader looks for first: the rest is below the devices.
    private static func state(_ details: PushDetails) -> Section {
        let receipt = details.receipt
        return Section {
            if receipt.settledAt == nil { progress(details) }
            Facts {
                Fact(
                    "State",
                    [receipt.stateValue]
                        + receipt.parked.map {
                            .text("\($0.name): \($0.parking.detail)\(Parking.nextProbe($0.parking.probe?.at.minute))")
                        })
                Fact("Target", .text(details.request?.target.words ?? "not known"))
                for fault in details.faults {
                    Fact("Waits for", .badge("no connection", .warn), .text("\(fault.fault.detail)"))
                }
            }
        }
    }

    private static func facts(_ details: PushDetails, _ application: Application) -> Section {
        let receipt = details.receipt
        return Section("Details") {
            Facts {
                Fact("Receipt id", .code(receipt.push.receiptID.lowercased))
                if let campaign = details.campaign {
                    Fact("Campaign", .link(campaign, Address.of(application, "campaigns", campaign)))
                }
                if let sender = details.sender?.change {
                    Fact("Sent by", .text(sender.keyID ?? sender.address ?? "not known"))
                    if let template = sender.details["template"]?.split(separator: "@").first {
                        Fact("Template", .link("\(template)", Address.of(application, "templates", "\(template)")))
                    }
                }
                Fact("Accepted", .time(receipt.push.acceptedAt))
                Fact("First answer", .time(receipt.firstAnswerAt, none: "none yet"))
                Fact("Done", .time(receipt.settledAt, none: "not yet"))
                pace(details)
                Fact("Expires", .time(receipt.push.expiresAt))
                Fact("Urgency", .text(receipt.push.lane.word))
                Fact("Guarantee", .text(receipt.push.guarantee == .atLeastOnce ? "at least once" : "at most once"))
                if let pacing = details.request?.content.pacing {
                    if let kind = pacing.kind { Fact("Kind", .text(kind)) }
                    if let rate = pacing.perMinute { Fact("Throttle", .text("\(rate) devices a minute")) }
                    if let reminders = pacing.reminders, details.request?.content.follows?.isReminder != true {
                        Fact(
                            "Reminders",
                            [.text(reminders.words)]
                                + (details.reminders.map {
                                    [.link("their schedule", Address.of(application, "schedules", $0.id))]
                                } ?? []))
                    }
                }
                facts(following: details, application)
                for words in details.words { Fact("The provider said", .text(words)) }
            }
        }
    }

    /// How long after its acceptance the devices had their answers, batch by batch.
    private static func pace(_ details: PushDetails) -> Fact {
        let shares = [("half", 0.5), ("90 %", 0.9), ("99 %", 0.99), ("all", 1)]
        let words = shares.compactMap { name, share in
            details.times.time(ofShare: share).map { at in
                "\(name) after \((at - details.receipt.push.acceptedAt).inSeconds)"
            }
        }
        return Fact(
            details.receipt.settledAt == nil ? "Answered so far" : "Answered",
            .text(words.isEmpty ? "none" : words.joined(separator: ", ")))
    }

    /// How many devices have their answer, how fast that goes, and how long the rest takes.
    private static func progress(_ details: PushDetails) -> Tag {
        let receipt = details.receipt
        let words = [
            "\(receipt.answered.grouped) of \(receipt.devices.grouped) devices\(receipt.isFannedOut ? "" : " found so far") have their "
                + "answer", pace(now: details),
        ].compactMap(\.self).joined(separator: " · ")
        return Tag("p", ["class": "progress"]) {
            Tag("progress", ["aria-label": words, "max": max(receipt.devices, 1), "value": receipt.answered])
            words
        }
    }

    /// The devices that are answered in a second, of the last minute, and the time that the rest takes; nil while that is not known.
    private static func pace(now details: PushDetails) -> String? {
        let receipt = details.receipt
        let minute = min(60_000, max(1_000, (details.now - receipt.push.acceptedAt).milliseconds))
        let answered = details.times.answered(since: details.now + .milliseconds(-minute))
        guard answered > 0 else { return nil }
        let rate = Double(answered) * 1_000 / Double(minute)
        let words = rate < 1 ? "\(Int((rate * 60).rounded(.up))) a minute" : "\(Int(rate).grouped) a second"
        guard receipt.isFannedOut else { return words }
        return "\(words) · about \(Duration.seconds(Double(receipt.count(.pending)) / rate).inSeconds) left"
    }

    private static func funnel(_ details: PushDetails, _ address: String) -> Section {
        let own = details.own
        return Section("From audience to opening") {
            Funnel(own.steps)
            ButtonRow([Link("This report as CSV", "\(address)/report.csv")])
        }
    }

    private static func causes(_ details: PushDetails, _ address: String) -> Section {
        Section("Why devices did not get it", text: "A cause leads to its devices.") {
            Table(
                "Causes", ["Cause", "#Devices", "#Share", "Why", "What helps"],
                details.receipt.causes.map { answer, count in
                    [
                        answer.values(Address.query(address, [("answer", answer.name)])), [.number(count)],
                        [.text(count.share(of: details.own.devices))], [.text(answer.words.reason.sentence)],
                        [.text(answer.words.remedy?.sentence ?? "")],
                    ]
                }, empty: "")
        }
    }

    private static func byPlatform(_ details: PushDetails) -> Section {
        Section("By platform", text: "Apps with the SDK report what was received, opened and dismissed.") {
            Table(
                "By platform",
                [
                    "Platform", "#Devices", "#Accepted", "#Not delivered", "#Waiting", "#Received", "#Opened",
                    "#Dismissed",
                ],
                details.platformRows.map { name, numbers in [[.text(name)]] + numbers.map { [.number($0)] } },
                empty: "No device has been found yet.")
        }
    }

    private static func overTime(_ details: PushDetails, _ application: Application) -> Section? {
        let (width, devices) = details.times.parts(since: details.receipt.push.acceptedAt, atMost: 40)
        guard devices.count > 1 else { return nil }
        let columns = devices.enumerated().map { place, count in Chart.Column((width * place).inSeconds, [count]) }
        return Section("Answers over time", text: "By the time since the push was accepted.") {
            Chart("Devices answered over time", series: ["devices answered"], columns)
        }
    }

    private static func byDevice(_ details: PushDetails, _ application: Application, _ address: String) -> Section {
        let wanted = details.wanted
        let kinds: [Answer.Kind] = [
            .failed, .accepted, .pending, .refused, .gone, .expired, .unknown, .skipped, .all,
        ]
        var choices = kinds.map { ($0.rawValue, $0.title) }
        if let only = wanted.only { choices.append((only.name, only.words.title)) }
        let form = Form.filter(
            address,
            [
                .text("find", "Device or user", wanted.text, type: "search", placeholder: "A whole id"),
                .select("answer", "Answer", wanted.name, choices),
            ], "Show")
        func row(_ uuid: UUID, _ label: String, _ answer: Answer?) -> [[Value]] {
            let story = Address.answer(of: uuid, to: details.receipt.push, application)
            return [
                [.link(label, Address.of(application, "devices", uuid.lowercased))],
                answer?.values(story) ?? [.badge("Not in the audience", .calm, href: story)],
            ]
        }
        var table = Table(
            "Devices", ["Device", "Answer"],
            wanted.text.isEmpty
                ? details.devices.answers.map { row($0.uuid, $0.uuid.lowercased, $0.answer) }
                : details.found.map { row($0.device.uuid, $0.device.label, $0.answer) },
            empty: !wanted.text.isEmpty
                ? "No device has this id, and no active device this user."
                : details.devices.next == nil
                    ? "No device has this answer." : "No match so far. Go on to look through the rest.")
        if let next = details.devices.next {
            table.next = Address.query(
                address,
                [
                    ("answer", wanted.name), ("platform", String(next.platform.rawValue)),
                    ("device", String(next.device.rawValue)),
                ])
        }
        return Section("Devices", text: "An answer leads to what happened, and why.") {
            form
            table
            ButtonRow([
                Link(
                    "Download as CSV (the first \(csvRowsMax.grouped))",
                    Address.query("\(address)/devices.csv", [("answer", wanted.name)]))
            ])
        }
    }

    private static func comparison(_ details: PushDetails, _ application: Application) -> Section? {
        guard details.figures.count > 1 else { return nil }
        return Section(
            "Compared with the pushes before it", text: "Opened is a share of accepted, the rest of all devices."
        ) {
            Table(
                "Compared", ["Push", "Time", "#Devices", "#Accepted", "#Not delivered", "#Received", "#Opened"],
                details.figures.map { figures in
                    [
                        [.link(figures.summary, figures.push.address(in: application))],
                        [.time(figures.push.acceptedAt)], [.number(figures.devices)],
                    ] + figures.shares.map { [.text($0)] }
                }, empty: "")
        }
    }

    private static func content(
        _ request: PushRequest, _ details: PushDetails, _ application: Application
    ) -> Section {
        let kinds = Set(details.platforms.map(\.kind)).filter { request.target.platforms?.contains($0) ?? true }
        return Section("Content") {
            Previews(
                Preview.all(
                    of: request.content, on: kinds, for: application.name, at: details.receipt.push.acceptedAt))
            Tag("details") {
                Tag("summary", "As JSON")
                Tag("pre", ["tabindex": 0]) { Tag("code", request.content.json.pretty) }
            }
        }
    }

    // MARK: The file

    @Sendable func reportFile(
        _ visit: DashboardRequest, _ receipt: Receipt, _ application: Application
    ) async throws -> PageAnswer {
        let details = try await visit.searching(application) { try await self.details(visit, receipt, application) }
        return .response(
            .file(
                Self.file(details), named: "push-\(receipt.push.receiptID.lowercased).csv", type: "text/csv"))
    }

    static func file(_ details: PushDetails) -> String {
        let own = details.own
        var rows = [["part", "name", "count", "detail"]]
        rows += own.steps.map { ["funnel", $0.title, String($0.devices), $0.devices.share(of: own.devices)] }
        rows += details.receipt.causes.map { ["cause", $0.answer.name, String($0.devices), $0.answer.words.title] }
        for (name, numbers) in details.platformRows {
            rows += zip(PushDetails.platformColumns, numbers).map { ["platform", name, String($1), $0] }
        }
        let (width, devices) = details.times.parts(since: details.receipt.push.acceptedAt, atMost: 40)
        rows += devices.enumerated().map { ["answered", (width * $0).inSeconds, String($1), ""] }
        rows += details.openingColumns.columns.map { ["opened", $0.start.text, String($0.count), ""] }
        for row in details.languages.rows {
            rows += zip(["devices", "accepted", "opened"], [row.devices, row.accepted, row.opened]).map {
                ["language", row.title, String($1), $0]
            }
        }
        for figures in details.figures {
            let numbers = [figures.devices, figures.accepted, figures.failed, figures.received, figures.opened]
            rows += zip(["devices", "accepted", "not delivered", "received", "opened"], numbers).map {
                ["compared", figures.push.receiptID.lowercased, String($1), $0]
            }
        }
        return rows.map { $0.map(\.csvCell).joined(separator: ",") + "\r\n" }.joined()
    }
}

extension PushPages.PushDetails {
    static let platformColumns = [
        "devices", "accepted", "not delivered", "waiting", "received", "opened", "dismissed",
    ]

    /// The numbers of each platform, in the order of `platformColumns`.
    var platformRows: [(name: String, numbers: [Int])] {
        let names = Dictionary(uniqueKeysWithValues: platforms.map { ($0.key, $0.name) })
        return answers.sorted { $0.key < $1.key }.map { platform, counts in
            func count(_ kind: Answer.Kind) -> Int {
                counts.reduce(0) { $0 + (kind.includes($1.key) ? $1.value : 0) }
            }
            let reported = [AnalyticsKind.received, .opened, .dismissed].map { Int(events[platform]?[$0] ?? 0) }
            return (
                names[platform] ?? "deleted platform",
                [.all, .accepted, .failed, .pending].map(count) + reported
            )
        }
    }
}

/// The answer whose devices are shown, or the device or user that is searched for.
struct WantedAnswer: Sendable {
    let kind: Answer.Kind
    let only: Answer?
    let text: String

    /// As it stands in an address.
    var name: String { only?.name ?? kind.rawValue }

    init(_ query: FormData) {
        let name = query["answer"]
        let kind = Answer.Kind(rawValue: name)
        only = kind == nil ? Answer.all.first { $0.name == name } : nil
        self.kind = kind ?? (only == nil ? .failed : .all)
        text = query["find"]
    }
}
