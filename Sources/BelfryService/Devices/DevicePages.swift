import FoundationEssentials
import Hummingbird
import NIOCore

/// Devices: the list with its filters, and one device with a test push.
struct DevicePages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "devices", .read, list), make.application(.get, "devices.csv", .read, csv),
            make.device(.get, "", .read, show), make.device(.post, "", .change, edit),
            make.device(.post, "/test", .send, test), make.device(.post, "/deactivate", .change, deactivate),
            make.device(.post, "/erase", .change, erase),
        ]
    }

    private static let perPage = 50

    @Sendable private func list(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let store = visit.services.store
        let platforms = try await store.platforms(of: application.key)
        var form = Self.filter(visit, application, platforms)
        var found = DevicePage([], count: nil, next: nil)
        do {
            let search = try Self.search(visit, platforms)
            let after = visit.number("after").map { Key<Device>($0) }
            found = try await visit.searching(application) {
                try await store.devicePage(
                    search, after: after, limit: Self.perPage,
                    within: visit.query.isChecked("longer") ? DeviceSearch.searchedForLonger : Self.searchedFor)
            }
        } catch let fault as InvalidInput {
            form.show(fault.problem, at: fault.field)
        }
        var page = Self.page(application, found, platforms, form: form)
        page.sections[0].next = found.next.map { Self.address(visit, application, [("after", "\($0)")]) }
        if !found.devices.isEmpty {
            page.sections[0].add {
                ButtonRow([
                    Link(
                        "Download as CSV (the first \(Self.csvRowsMax.grouped))",
                        Self.address(visit, application, [], in: "devices.csv"))
                ])
            }
        }
        if found.isCut, !visit.query.isChecked("longer") {
            let more = [("after", visit.query["after"]), ("longer", "yes")]
            page.actions = [Link("Search for longer", Self.address(visit, application, more))]
        }
        return .page(page.saying(visit, ["erased": "Erased."]))
    }

    /// The most rows of a file, and how many are in memory at a time. More devices are read by the admin API, page by page.
    private static let (csvRowsMax, csvRowsAtOnce) = (50_000, 500)

    /// The list with its filters as a file, which is written while it is read. Devices that no index has are searched in short steps.
    @Sendable private func csv(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let store = visit.services.store
        let platforms = try await store.platforms(of: application.key)
        let names = Dictionary(uniqueKeysWithValues: platforms.map { ($0.key, $0.name) })
        let search = try Self.search(visit, platforms)
        let response = try await visit.services.shares.streaming(.exports, for: visit.holder(application)) {
            let body = ResponseBody { writer in
                try await writer.write(ByteBuffer(string: Self.csvHead))
                var (after, rows) = (Key<Device>?.none, 0)
                for _ in 0..<(2 * Self.csvRowsMax / Self.csvRowsAtOnce) where rows < Self.csvRowsMax {
                    let found = try await store.devicePage(
                        search, after: after, limit: Self.csvRowsAtOnce, within: DeviceSearch.searchedForLonger)
                    let lines = found.devices.map { Self.csvLine($0, names[$0.platformKey] ?? "") }
                    try await writer.write(ByteBuffer(string: lines.joined()))
                    rows += lines.count
                    after = found.next
                    guard after != nil else { break }
                }
                try await writer.finish(nil)
            }
            return .file(body, named: "devices.csv", type: "text/csv")
        }
        return .response(response)
    }

    private static let csvHead =
        "device_uuid,platform,alias,user,manufacturer,model,os,os_version,active,topics,last_seen\r\n"

    private static func csvLine(_ device: Device, _ platform: String) -> String {
        let about = device.about
        let cells = [
            device.uuid.lowercased, platform, device.shownAlias ?? "", device.customUserID ?? "",
            about.manufacturer ?? "", about.model ?? "", about.os ?? "", about.osVersion ?? "",
            device.isActive ? "yes" : "no", ListedNames.write(device.topics, with: ", "), device.lastSeenAt?.text ?? "",
        ]
        return cells.map(\.csvCell).joined(separator: ",") + "\r\n"
    }

    private static func search(_ visit: DashboardRequest, _ platforms: [Platform]) throws(InvalidInput) -> DeviceSearch
    {
        let (topic, platform) = (visit.query["topic"], visit.query["platform"])
        return DeviceSearch(
            platforms: platforms.filter { platform.isEmpty || $0.uuid.lowercased == platform }.map(\.key),
            text: visit.query["q"], topic: topic.isEmpty ? nil : try Topic.normalized(topic, field: "topic"),
            filter: try deviceFilter(visit.query))
    }

    /// How long a page searches devices that no index has; the next page goes on from there.
    private static let searchedFor = Duration.milliseconds(25)

    private static let filterNames = [
        "q", "topic", "platform", "user", "active", "seen_from", "seen_before", "os_version", "unseen",
        "longer",
    ]

    /// The filters of the query beside text, topic and platform.
    static func deviceFilter(_ query: FormData) throws(InvalidInput) -> DeviceFilter {
        var filter = DeviceFilter()
        switch query["active"] {
        case "yes": filter.isActive = true
        case "no": filter.isActive = false
        default: break
        }
        filter.customUserID = query["user"].isEmpty ? nil : query["user"]
        filter.seenFrom = try query.day("seen_from")
        filter.seenBefore = try query.day("seen_before")
        filter.osVersion = query["os_version"].isEmpty ? nil : query["os_version"]
        filter.isUnseen = query.isChecked("unseen")
        return filter
    }

    private static func address(
        _ visit: DashboardRequest, _ application: Application, _ more: [(String, String)], in path: String = "devices"
    ) -> String {
        let set = Set(more.map(\.0))
        let kept = filterNames.filter { visit.query.isChecked($0) && !set.contains($0) }.map { ($0, visit.query[$0]) }
        return Address.query(Address.of(application, path), kept + more)
    }

    private static func filter(_ visit: DashboardRequest, _ application: Application, _ platforms: [Platform]) -> Form {
        .filter(
            Address.of(application, "devices"),
            [
                .text(
                    "q", "Search", visit.query["q"], type: "search",
                    placeholder: "Alias, UUID, token, user"),
                .select(
                    "platform", "Platform", visit.query["platform"],
                    [("", "All")] + platforms.map { ($0.uuid.lowercased, $0.name) }),
                .select(
                    "active", "State", visit.query["active"], [("", "All"), ("yes", "Active"), ("no", "Inactive")]),
                .text("user", "User", visit.query["user"], placeholder: "The whole id"),
                .text("topic", "Topic", visit.query["topic"]),
                .text("seen_from", "Last seen from", visit.query["seen_from"], type: "date"),
                .text("seen_before", "Last seen before", visit.query["seen_before"], type: "date"),
                .text("os_version", "System version", visit.query["os_version"], placeholder: "17, 17.2"),
                .check("unseen", "Imported and not seen since", visit.query.isChecked("unseen")),
            ])
    }

    static func page(
        _ application: Application, _ found: DevicePage, _ platforms: [Platform], form: Form
    ) -> PageView {
        let byKey = Dictionary(uniqueKeysWithValues: platforms.map { ($0.key, $0) })
        var page = PageView("Devices", in: application)
        page.lead =
            found.isCut
            ? "Only some of the devices were searched. The next page continues."
            : found.count.map { count in
                count.isMore
                    ? "More than \(count.devices.grouped) devices."
                    : count.devices == 1 ? "One device." : "\(count.devices.grouped) devices."
            } ?? ""
        page.sections = [
            Section {
                form
                Table(
                    "Devices", ["Device", "Platform", "User", "Model", "System", "State", "Last seen"],
                    found.devices.map { device in
                        [
                            [.link(device.label, device.address(in: application))],
                            [.text(byKey[device.platformKey]?.name ?? "")], [.text(device.customUserID ?? "")],
                            [.text(words(device.about.manufacturer, device.about.model))],
                            [.text(device.about.osVersion ?? "")], [device.state],
                            [.time(device.lastSeenAt)],
                        ]
                    },
                    empty: found.isCut
                        ? "None of the devices searched so far matches."
                        : "No devices match. A device appears when its app registers."
                )
            }
        ]
        return page
    }

    private static func words(_ words: String?...) -> String { words.compactMap(\.self).joined(separator: " ") }

    // MARK: One device

    @Sendable private func show(
        _ visit: DashboardRequest, _ device: Device, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        .page(
            try await page(visit, device, platform, application).saying(
                visit,
                [
                    "deactivated": "Deactivated. It comes back when its app registers again.", "saved": "Saved.",
                    "revoked": "The endpoint is revoked.",
                ]))
    }

    private func page(
        _ visit: DashboardRequest, _ device: Device, _ platform: Platform, _ application: Application,
        test: Form? = nil, edit: Form? = nil, erase: Form? = nil
    ) async throws -> PageView {
        let store = visit.services.store
        let before = visit.number("before").map { Key<Push>($0) }
        let history = try await visit.searching(application) {
            try await PushHistory(of: [device], in: application, before: before, store)
        }
        var page = Self.page(
            device, platform, application, history,
            mayChange: visit.may(.change, Permission.Subject(application)),
            test: visit.may(.send, Permission.Subject(application)) && device.isActive
                ? test ?? Self.testForm(device, application) : nil)
        if device.isActive, visit.may(.send, Permission.Subject(application)) {
            page.actions = [
                Link(
                    "Compose to this device",
                    Address.query(Address.of(application, "compose"), [("device", device.uuid.lowercased)]))
            ]
        }
        if let endpoints = try await WebPushEndpointPages.section(visit, device, application) {
            page.sections.append(endpoints)
        }
        if device.isActive || edit != nil, visit.may(.change, Permission.Subject(application)) {
            let form = try await editForm(visit, device, platform, application)
            page.sections.append(
                Section("Change it", text: "Its app may say otherwise when it registers again.") { edit ?? form })
        }
        if visit.may(.change, Permission.Subject(application)) {
            page.sections.append(
                Section(
                    "Erase",
                    text:
                        "Deletes the device with all its data. Its app may register it again, under another UUID.",
                    style: .danger
                ) {
                    erase ?? Self.eraseForm(device, application)
                })
        }
        return page
    }

    private func editForm(
        _ visit: DashboardRequest, _ device: Device, _ platform: Platform, _ application: Application
    ) async throws -> Form {
        let detail = try await visit.services.store.detail(of: device.key, on: platform.key) ?? DeviceDetail()
        return Form(
            device.address(in: application), "Save",
            [
                .text("device_alias", "Alias", device.shownAlias ?? ""),
                .text("custom_user_id", "User", device.customUserID ?? "", hint: "Empty: none."),
                .area(
                    "topics", "Topics", ListedNames.write(device.topics),
                    hint: "One per line, or with commas between them."),
                .text(
                    "language", "Language", detail.language ?? "", hint: "Empty: stays as it is.", placeholder: "de-AT"),
                .text(
                    "time_zone", "Time zone", detail.timeZone ?? "", hint: "Empty: stays as it is.",
                    placeholder: "Europe/Vienna"),
            ]
        ).guarded
    }

    @Sendable private func edit(
        _ visit: DashboardRequest, _ device: Device, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        let form = try await editForm(visit, device, platform, application)
        return try await visit.trying(form, on: { try await page(visit, device, platform, application, edit: $0) }) {
            try visit.form.checkZone(shownBy: form)
            let old = Set(device.topics)
            let topics = Set(try Topic.normalized(visit.form.list("topics"), field: "topics"))
            let change = DeviceChange(
                alias: visit.form["device_alias"], customUserID: try .user(visit.form["custom_user_id"]),
                topics: .change(subscribe: topics.subtracting(old), unsubscribe: old.subtracting(topics)),
                detail: try DeviceDetail.Change(told: visit.form["language"], timeZone: visit.form["time_zone"]))
            _ = try await visit.services.admin.update(device, on: platform, of: application, change, by: visit.author)
            return .redirect(Address.query(device.address(in: application), [("done", "saved")]))
        }
    }

    private static func eraseForm(_ device: Device, _ application: Application) -> Form {
        Form(
            "\(device.address(in: application))/erase", "Erase this device",
            [
                .text(
                    "confirm", "Type the first eight characters of its UUID to confirm", isRequired: true,
                    placeholder: String(device.uuid.lowercased.prefix(8)))
            ], isDanger: true)
    }

    @Sendable private func erase(
        _ visit: DashboardRequest, _ device: Device, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        try await visit.trying(
            Self.eraseForm(device, application),
            on: { try await page(visit, device, platform, application, erase: $0) }
        ) {
            let typed = visit.form["confirm"].lowercased()
            guard typed.count >= 8, device.uuid.lowercased.hasPrefix(typed) else {
                throw InvalidInput(field: "confirm", "are not the first characters of the UUID")
            }
            try await visit.services.admin.erase(device, on: platform, of: application, by: visit.author)
            return .redirect(Address.query(Address.of(application, "devices"), [("done", "erased")]))
        }
    }

    private static func testForm(_ device: Device, _ application: Application) -> Form {
        Form(
            "\(device.address(in: application))/test", "Send the test push",
            [.text("body", "Text", "This is a test.", isRequired: true)])
    }

    static func page(
        _ device: Device, _ platform: Platform, _ application: Application, _ history: PushHistory, mayChange: Bool,
        test: Form?
    ) -> PageView {
        var page = PageView(device.label, in: application, "Devices")
        let devices = Address.of(application, "devices")
        let facts = Section {
            Facts {
                Fact("State", device.state)
                Fact("Platform", .link(platform.name, Address.of(application, "platforms", platform.uuid.lowercased)))
                Fact("Device UUID", .code(device.uuid.lowercased))
                Fact("Alias", .text(device.about.alias ?? ""))
                Fact(
                    "User",
                    device.customUserID.map { .link($0, Address.query(Address.of(application, "users"), [("id", $0)])) }
                        ?? .text("none"))
                Fact("Model", .text(words(device.about.manufacturer, device.about.model)))
                Fact("System", .text(words(device.about.os, device.about.osVersion)))
                Fact("Registered", .time(device.lastSeenAt))
                Fact("Token", .code(device.token?.text(for: platform.kind) ?? ""))
                Fact(
                    "Topics",
                    device.topics.isEmpty
                        ? [.text("none")] : device.topics.map { .link($0, Address.query(devices, [("topic", $0)])) })
                if let mark = device.importMark {
                    Fact("Imported", .time(mark.importedAt), .badge("\(mark.stage)", .calm))
                }
            }
            if mayChange, device.isActive {
                ButtonRow([
                    .button("\(device.address(in: application))/deactivate", "Deactivate", isDanger: true)
                ])
            }
        }
        let pushes = Section("What it was sent", text: "Newest first. An answer leads to what happened, and why.") {
            history.table(application, showsDevice: false, device.address(in: application))
        }
        page.sections = [facts]
        if let test {
            page.sections.append(
                Section(
                    "Test push", text: "Sent ahead of all other pushes. The page waits for the answer of the provider."
                ) { test })
        }
        page.sections.append(pushes)
        return page
    }

    @Sendable private func test(
        _ visit: DashboardRequest, _ device: Device, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        let deadline = ContinuousClock.now + visit.services.options.verdictDeadline
        return try await visit.trying(
            Self.testForm(device, application), names: ["message": "body"],
            on: { try await page(visit, device, platform, application, test: $0) }
        ) {
            guard !visit.form["body"].isEmpty else { throw InvalidInput(field: "body", "is missing") }
            let pushRequest = PushRequest(
                content: Push.Content(body: visit.form["body"]), target: try Target(devices: [device.uuid]))
            let answer = try await visit.services.shares.holding(.tests, for: visit.holder(application)) {
                let push = try await visit.services.pushes.sendTest(
                    pushRequest, to: device, of: application, by: visit.author)
                return try await visit.services.pushes.verdict(on: device, of: push, by: deadline)
            }
            var page = try await page(visit, device, platform, application)
            switch answer {
            case .accepted: page.notice = "The provider accepted the test push."
            case .pending: page.problem = "The provider has not answered yet; see the push below."
            default: page.problem = "The test push was not delivered. \(answer.words.title): \(answer.words.help)."
            }
            return .outcome(page)
        }
    }

    @Sendable private func deactivate(
        _ visit: DashboardRequest, _ device: Device, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        let question = visit.question(
            "Deactivate \(device.label)?", "It gets nothing until its app registers again.",
            [
                Fact("Devices", .number(1)), Fact("User", .text(device.customUserID ?? "none")),
                Fact("Topics", .number(device.topics.count)), Fact("Last seen", .time(device.lastSeenAt)),
            ], yes: "Deactivate it", no: device.address(in: application))
        if let question { return question }
        try await visit.services.admin.deactivate(device, on: platform, of: application, by: visit.author)
        return .redirect(Address.query(device.address(in: application), [("done", "deactivated")]))
    }
}

extension Device {
    func address(in application: Application) -> String { Address.of(application, "devices", uuid.lowercased) }

    /// The alias; a part of the UUID where the device has none.
    var label: String { shownAlias ?? "Device \(uuid.lowercased.prefix(8))" }

    /// nil for a device that was imported without such a time, and has not registered here.
    var lastSeenAt: Instant? { registeredAt == .zero ? nil : registeredAt }

    var state: Value { isActive ? .badge("active", .good) : .badge("inactive", .calm) }
}
