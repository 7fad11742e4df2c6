import FoundationEssentials

/// Pushes: the list, one with its progress, its devices by answer, and their CSV.
struct PushPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "pushes", .read, list), make.receipt(.get, "", .read, show),
            make.receipt(.get, "/devices.csv", .read, csv), make.receipt(.get, "/report.csv", .read, reportFile),
            make.receipt(.post, "/write-off", .change, writeOff),
            make.receipt(.get, "/cancel", .send, askToCancel), make.receipt(.post, "/cancel", .send, cancel),
        ] + followUpRoutes + answerRoutes
    }

    static let perPage = 50

    @Sendable private func list(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let before = visit.number("before").map { Key<Push>($0) }
        var form = PushFilter.form(visit.query, Address.of(application, "pushes"))
        var found = PushFilter.Found()
        do {
            let filter = try PushFilter(visit.query)
            found = try await visit.searching(application) {
                try await filter.find(in: application, before: before, limit: Self.perPage, visit)
            }
        } catch let fault as InvalidInput {
            form.show(fault.problem, at: fault.field)
        }
        let receipts = found.receipts
        var page = PageView("Pushes", in: application, lead: "Newest first.")
        let maySend = visit.may(.send, Permission.Subject(application))
        if maySend {
            page.actions = [Link("Compose a push", Address.of(application, "compose"), isMain: true)]
        }
        var table = Self.table(
            receipts, try await visit.summaries(of: receipts), application, mayCancel: maySend,
            empty: found.next != nil
                ? "No match so far. Go on to look through the rest."
                : before != nil
                    ? "There are no earlier ones."
                    : PushFilter.isEmpty(visit.query) ? "Nothing was sent yet." : "No push matches the filter.")
        if let next = found.next {
            table.next = Address.query(
                Address.of(application, "pushes"),
                PushFilter.names.map { ($0, visit.query[$0]) } + [("before", String(next.rawValue))])
        }
        page.sections = [
            Section {
                form
                table
            }
        ]
        if before == nil, receipts.contains(where: { $0.settledAt == nil }) {
            page.live = Address.of(application, "events")
        }
        return .page(page)
    }

    static func table(
        _ receipts: [Receipt], _ summaries: [Key<Push>: String], _ application: Application, mayCancel: Bool,
        empty: String
    ) -> Table {
        Table(
            "Pushes", ["Push", "State", "#Devices", "#Accepted", "#Not delivered", "Time"],
            receipts.map { receipt in
                let address = receipt.push.address(in: application)
                let isOpen = mayCancel && receipt.settledAt == nil
                return [
                    [.link(summaries[receipt.push.key] ?? "[damaged]", address)],
                    [receipt.stateValue] + (isOpen ? [.link("Cancel the rest", "\(address)/cancel")] : []),
                    [.number(receipt.devices)], [.number(receipt.count(.accepted))],
                    [.number(receipt.count(.failed))], [.time(receipt.push.acceptedAt)],
                ]
            }, empty: empty,
            emptyLink: mayCancel ? Link("Compose a push", Address.of(application, "compose")) : nil)
    }

    // MARK: One push

    @Sendable private func show(
        _ visit: DashboardRequest, _ receipt: Receipt, _ application: Application
    ) async throws -> PageAnswer {
        let details = try await visit.searching(application) { try await self.details(visit, receipt, application) }
        var page = Self.page(details, application)
        switch visit.query["done"] {
        case "sent": page.notice = "Accepted. The numbers below follow by themselves."
        case "cancelled": page.notice = "Cancelled: what has not left is not sent."
        case "retracted": page.notice = "Retracted: the devices that it went to are told to remove it."
        case "late": page.problem = "Nothing was left to cancel: it is done."
        default: break
        }
        if receipt.settledAt == nil { page.live = Address.of(application, "events") }
        let address = receipt.push.address(in: application)
        if visit.may(.send, Permission.Subject(application)) {
            page.actions = [
                Link(
                    "Send an edited copy",
                    Address.query(Address.of(application, "compose"), [("from", receipt.push.receiptID.lowercased)]))
            ]
            if receipt.settledAt == nil { page.actions.append(Link("Cancel the rest", "\(address)/cancel")) }
            page.actions += Self.followUpLinks(details.request, address)
        }
        if receipt.damagedBatches + receipt.damagedFanOuts > 0, visit.may(.change, Permission.Subject(application)) {
            page.sections[0].add {
                ButtonRow([.button("\(address)/write-off", "Write off the damaged rows", isDanger: true)])
            }
        }
        return .page(page)
    }

    /// The most rows of a file. More devices are read by the admin API, page by page.
    static let csvRowsMax = 20_000

    @Sendable private func csv(_ visit: DashboardRequest, _ receipt: Receipt, _ application: Application) async throws
        -> PageAnswer
    {
        let wanted = WantedAnswer(visit.query)
        var (lines, after) = (["device_uuid,answer"], AnswerCursor?.none)
        try await visit.services.shares.holding(.exports, for: visit.holder(application)) {
            repeat {
                let found = try await visit.services.store.answers(
                    in: receipt.push.key, kind: wanted.kind, only: wanted.only, after: after, limit: 1_000)
                lines += found.answers.map { "\($0.uuid.lowercased),\($0.answer.name)" }
                after = found.next
            } while after != nil && lines.count < Self.csvRowsMax
        }
        let name = "push-\(receipt.push.receiptID.lowercased)-\(wanted.kind.rawValue)"
        let cut = after == nil ? "" : "-first-\(lines.count - 1)"
        return .response(
            .file(lines.joined(separator: "\r\n") + "\r\n", named: "\(name)\(cut).csv", type: "text/csv"))
    }

    // MARK: Cancelling

    /// Says how many devices are skipped before anything happens.
    @Sendable private func askToCancel(
        _ visit: DashboardRequest, _ receipt: Receipt, _ application: Application
    ) async throws -> PageAnswer {
        let rest = receipt.isFannedOut ? nil : try await audienceRest(visit, receipt, application)
        let request = try await visit.request(of: receipt)
        return .page(Self.cancelPage(receipt, request, application, rest: rest))
    }

    /// How many devices of the audience have yet to be found; nil where that is not known.
    private func audienceRest(
        _ visit: DashboardRequest, _ receipt: Receipt, _ application: Application
    ) async throws -> AudienceCount? {
        guard let request = try await visit.request(of: receipt) else { return nil }
        return try await visit.searching(application) {
            do {
                let draft = try await visit.services.pushes.preview(request, for: application.key)
                let count = try await AudienceCount.of(draft, in: visit.services.store)
                return AudienceCount(devices: max(0, count.devices - receipt.devices), isMore: count.isMore)
            } catch is InvalidInput {
                return nil
            }
        }
    }

    static func cancelPage(
        _ receipt: Receipt, _ request: PushRequest?, _ application: Application, rest: AudienceCount?
    ) -> PageView {
        let address = receipt.push.address(in: application)
        let waiting = receipt.count(.pending)
        var page = PageView("Cancel the rest")
        page.crumbs = [
            Link(application.name, Address.of(application)), Link("Pushes", Address.of(application, "pushes")),
            Link(request?.content.summary ?? "Push", address),
        ]
        guard receipt.settledAt == nil else {
            page.problem = "Nothing is left to cancel: it is done."
            page.sections = [Section { ButtonRow([Link("Back to the push", address)]) }]
            return page
        }
        var skipped = waiting == 1 ? "one device" : "\(waiting.grouped) devices"
        if !receipt.isFannedOut {
            skipped = rest.map { $0.with(waiting).words } ?? "\(skipped) and the rest of the audience"
        }
        let form = Form("\(address)/cancel", "Skip \(skipped)", isDanger: true)
        page.sections = [
            Section(
                text:
                    "These devices are not sent to, and their answer is \u{201c}skipped: cancelled\u{201d}. Batches being sent at this moment "
                    + "are finished. What has left is retracted instead, where the platform can."
            ) {
                Facts {
                    Fact("Target", .text(request?.target.words ?? "not known"))
                    Fact("Accepted by providers", .number(receipt.count(.accepted)))
                    Fact("Waiting", .number(waiting))
                    if !receipt.isFannedOut { Fact("Not found yet", .text(rest?.words ?? "the rest of the audience")) }
                }
                form
                ButtonRow([Link("Keep sending", address)])
            }
        ]
        return page
    }

    @Sendable private func cancel(
        _ visit: DashboardRequest, _ receipt: Receipt, _ application: Application
    ) async throws -> PageAnswer {
        let cancellation = try await visit.services.pushes.cancel(receipt, of: application, by: visit.author)
        let done = cancellation == .nothing ? "late" : "cancelled"
        return .redirect(Address.query(receipt.push.address(in: application), [("done", done)]))
    }

    @Sendable private func writeOff(
        _ visit: DashboardRequest, _ receipt: Receipt, _ application: Application
    ) async throws -> PageAnswer {
        _ = try await visit.services.admin.writeOffDamage(of: receipt, of: application, by: visit.author)
        return .redirect(receipt.push.address(in: application))
    }
}

extension JSONValue {
    /// Every text in it, a line each, to search them.
    fileprivate var lines: String {
        switch self {
        case .string(let text): text
        case .array(let elements): elements.map(\.lines).joined(separator: "\n")
        case .object(let members): members.map(\.value.lines).joined(separator: "\n")
        default: ""
        }
    }
}

extension PushHead {
    func address(in application: Application) -> String { Address.of(application, "pushes", receiptID.lowercased) }
}

extension DashboardRequest {
    /// nil where it cannot be read.
    func request(of receipt: Receipt) async throws -> PushRequest? {
        do { return try await services.store.request(of: receipt.push.key) } catch StoreError.damaged { return nil }
    }

    func summaries(of receipts: [Receipt]) async throws -> [Key<Push>: String] {
        try await services.store.contents(of: receipts.map(\.push.key)) { $0.summary }
    }
}

/// The filter of the list of pushes, from the query of its address.
struct PushFilter: Sendable {
    private let state: State?
    private let lane: Lane?
    private let from: Instant?
    /// Excluded.
    private let until: Instant?
    private let text: String

    static let names = ["state", "urgency", "from", "until", "q"]

    private enum State: String, CaseIterable {
        case running, parked, damaged, done, cancelled

        func includes(_ receipt: Receipt) -> Bool {
            switch self {
            case .running: receipt.settledAt == nil
            case .parked: receipt.state == .parked
            case .damaged: receipt.state == .damaged
            case .done: receipt.settledAt != nil
            case .cancelled: receipt.counts[.skipped(.cancelled), default: 0] > 0
            }
        }

        /// Whether it is one of the open pushes, of which an index knows.
        var isOpen: Bool { self == .running || self == .parked || self == .damaged }

        var label: String {
            switch self {
            case .running: "sending"
            case .parked: "held back"
            case .damaged, .done, .cancelled: rawValue
            }
        }
    }

    static func isEmpty(_ query: FormData) -> Bool { names.allSatisfy { query[$0].isEmpty } }

    init(_ query: FormData) throws(InvalidInput) {
        state = State(rawValue: query["state"])
        lane = Lane.allCases.first { $0.word == query["urgency"] }
        from = try query.day("from")
        until = try query.day("until", plus: 1)
        text = query["q"].caseFolded
    }

    static func form(_ query: FormData, _ address: String) -> Form {
        .filter(
            address,
            [
                .text("q", "Text", query["q"], type: "search"),
                .select(
                    "state", "State", query["state"],
                    [("", "All")] + State.allCases.map { ($0.rawValue, $0.label) }),
                .select(
                    "urgency", "Urgency", query["urgency"], [("", "All")] + Lane.allCases.map { ($0.word, $0.word) }),
                .text("from", "From", query["from"], type: "date"),
                .text("until", "Until", query["until"], type: "date"),
            ])
    }

    // MARK: Finding

    struct Found: Sendable {
        var receipts: [Receipt] = []
        /// The place where the next part begins; nil at the end.
        var next: Key<Push>?
    }

    /// The most pushes that are looked through for one page; fewer with a text, which needs their content.
    private var lookedThroughMax: Int { text.isEmpty ? 500 : 150 }

    func find(in application: Application, before: Key<Push>?, limit: Int, _ visit: DashboardRequest) async throws
        -> Found
    {
        let store = visit.services.store
        if let state, state.isOpen, before == nil {
            let open = try await store.openReceipts(of: application.key, limit: lookedThroughMax)
            let withText = try await withText(open, store)
            var found = Found()
            found.receipts = Array(open.lazy.filter { includes($0, withText) }.prefix(limit))
            // The rest of very many is found one by one.
            if open.count == lookedThroughMax || found.receipts.count == limit {
                found.next = (found.receipts.count == limit ? found.receipts : open).last?.push.key
            }
            return found
        }
        var found = Found(receipts: [], next: before)
        var looked = 0
        while looked < lookedThroughMax {
            let some = try await store.receipts(of: application.key, before: found.next, limit: limit)
            let withText = try await withText(some, store)
            for receipt in some {
                if let from, receipt.push.acceptedAt < from { return Found(receipts: found.receipts) }
                found.next = receipt.push.key
                looked += 1
                if includes(receipt, withText) { found.receipts.append(receipt) }
                if found.receipts.count == limit { return found }
            }
            if some.count < limit { return Found(receipts: found.receipts) }
        }
        return found
    }

    /// Whether the message of each push has the text; empty where none is looked for.
    private func withText(_ receipts: [Receipt], _ store: any Store) async throws -> [Key<Push>: Bool] {
        guard !text.isEmpty else { return [:] }
        return try await store.contents(of: receipts.map(\.push.key)) { [text] in
            $0.json.lines.caseFolded.contains(text)
        }
    }

    private func includes(_ receipt: Receipt, _ withText: [Key<Push>: Bool]) -> Bool {
        let push = receipt.push
        if let state, !state.includes(receipt) { return false }
        if let lane, lane != push.lane { return false }
        if let from, push.acceptedAt < from { return false }
        if let until, push.acceptedAt >= until { return false }
        return text.isEmpty || withText[push.key] == true
    }
}

extension Duration {
    /// The duration in seconds, with a tenth where it is short.
    var inSeconds: String {
        let milliseconds = max(0, Int(components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000))
        switch milliseconds {
        case ..<10_000: return "\(milliseconds / 1_000).\(milliseconds % 1_000 / 100) s"
        case ..<120_000: return "\(milliseconds / 1_000) s"
        case ..<7_200_000: return "\(milliseconds / 60_000) min"
        default: return "\(milliseconds / 3_600_000) h"
        }
    }
}
