import FoundationEssentials

/// Users: the list, and one user with their profile, devices and what these were sent.
struct UserPages {
    let make: RouteMaker
    private var users: UserService { make.services.all.users }

    var routes: [PageRoute] {
        [
            make.application(.get, "users", .read, list), make.application(.get, "users/export", .read, export),
            make.application(.post, "users/change", .change, change),
            make.application(.post, "users/merge", .change, merge),
            make.application(.post, "users/erase", .change, erase),
        ]
    }

    private static let perPage = 50
    /// The most devices whose pushes are shown.
    private static let timelineDevices = 10
    /// The most answers to pushes in a user's file, and how long they are looked for.
    private static let (filePushesMax, fileDeadline) = (10_000, Duration.seconds(15))

    @Sendable private func list(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let id = visit.query.raw("id")
        guard id.isEmpty else {
            return .page(
                try await page(id, visit, application).saying(visit, ["saved": "Saved.", "merged": "Merged."]))
        }
        let (text, after) = (visit.query["q"], visit.query.raw("after"))
        let (found, amid) = try await visit.searching(application) {
            (
                try await users.users(
                    of: application, beginning: IDPrefix(text), after: after.isEmpty ? nil : after,
                    limit: Self.perPage),
                after.isEmpty
                    ? try await users.users(
                        of: application, amid: text, limit: Self.perPage, within: Self.searchedFor) : []
            )
        }
        var page = Self.page(found, amid: amid, search: text, application).saying(visit, ["erased": "Erased."])
        if found.count == Self.perPage, let last = found.last {
            page.sections[0].next = Address.query(
                Address.of(application, "users"), [("q", text), ("after", last.id)])
        }
        return .page(page)
    }

    /// How long a page searches for users whose id has the text elsewhere than at its beginning.
    private static let searchedFor = Duration.milliseconds(10)

    static func page(_ users: [User], amid others: [User], search: String, _ application: Application) -> PageView {
        var page = PageView(
            "Users", in: application, lead: "People behind devices, by the user id that your app or back end gave."
        ) {
            Section {
                Form.filter(
                    Address.of(application, "users"), [.text("q", "User id begins with", search, type: "search")],
                    "Search")
                table(
                    users, application,
                    empty: search.isEmpty
                        ? "No users yet. A user appears when a device has a user id, or a back end saves a profile."
                        : "No user id begins with this. Upper and lower case differ.")
            }
        }
        if !others.isEmpty {
            page.sections.append(
                Section("Other ids with this text", text: "Users with a device.") {
                    table(others, application, empty: "")
                })
        }
        return page
    }

    private static func table(_ users: [User], _ application: Application, empty: String) -> Table {
        Table(
            "Users", ["User", "Language", "Time zone", "#Attributes"],
            users.map { user in
                [
                    [.link(user.id, address(user.id, application))], [.text(user.profile.language ?? "")],
                    [.text(user.profile.timeZone ?? "")], [.number(user.profile.attributes.count)],
                ]
            }, empty: empty)
    }

    private static func address(_ id: String, _ application: Application, done: String = "") -> String {
        Address.query(Address.of(application, "users"), [("id", id), ("done", done)])
    }
}

// MARK: - One user

extension UserPages {
    /// The data of a user's page and file.
    struct UserDetails: Sendable {
        let user: User
        let devices: [(device: Device, platform: Platform)]
        /// The pushes that went to one of the devices.
        let history: PushHistory
        /// Messages of Carma.
        let messages: [CarmaMessage]
        /// Labels and details of the devices; empty but for the file.
        var profiles: [Key<Device>: (profile: DeviceProfile, detail: DeviceDetail?)] = [:]
    }

    /// - Parameter isWhole: whether it is for a file, which has pushes of all devices.
    private func story(
        _ id: String, _ visit: DashboardRequest, _ application: Application, isWhole: Bool = false
    ) async throws -> UserDetails {
        guard let user = try await users.user(id, of: application) else { throw APIError.missing("user") }
        let store = visit.services.store
        let devices = try await users.devices(of: id, of: application)
        let shown = devices.prefix(isWhole ? devices.count : Self.timelineDevices).map(\.0)
        func pushes(before: Key<Push>?, _ limit: Int) async throws -> PushHistory {
            try await PushHistory(of: shown, in: application, before: before, limit: limit, store)
        }
        let limit = isWhole ? Self.filePushesMax : 25
        let deadline = ContinuousClock.now + Self.fileDeadline
        var history = try await visit.searching(application) {
            var history = try await pushes(before: visit.number("before").map { Key($0) }, limit)
            while let next = history.next, isWhole, history.entries.count < limit, ContinuousClock.now < deadline {
                history.add(try await pushes(before: next, limit - history.entries.count))
            }
            return history
        }
        if isWhole { try await history.keep(pushesTo: user.id, store) }
        var details = UserDetails(
            user: user, devices: devices.map { ($0, $1) }, history: history,
            messages: try await store.carmaMessages(of: user.id, application.key))
        for (device, platform) in isWhole ? devices : [] {
            details.profiles[device.key] = (
                try await store.profile(of: device.key, on: platform.key),
                try await store.detail(of: device.key, on: platform.key)
            )
        }
        return details
    }

    private func page(
        _ id: String, _ visit: DashboardRequest, _ application: Application, profile: Form? = nil, merge: Form? = nil,
        erase: Form? = nil
    ) async throws -> PageView {
        let story = try await story(id, visit, application)
        var page = Self.page(story, application)
        if visit.may(.send, Permission.Subject(application)) {
            let compose = Address.query(Address.of(application, "compose"), [("user", story.user.id)])
            page.actions = [Link("Compose to this user", compose)]
        }
        guard visit.may(.change, Permission.Subject(application)) else { return page }
        let change = Section("Edit the profile") { profile ?? Self.profileForm(story.user, application) }
        let merging = Section(
            "Merge",
            text:
                "Gives another user these devices, and the parts of the profile that they lack. This user is gone then."
        ) {
            merge ?? Self.mergeForm(id, application)
        }
        let danger = Section(
            "Erase",
            text:
                "Deletes the profile, deactivates \(Self.count(story.devices.count)) and removes what these still tell of "
                + "the user. It cannot be undone.", style: .danger
        ) {
            erase ?? Self.eraseForm(id, application)
        }
        page.sections += [change, merging, danger]
        return page
    }

    private static func count(_ devices: Int) -> String {
        devices == 1 ? "one device" : "\(devices.grouped) devices"
    }

    static func page(_ story: UserDetails, _ application: Application) -> PageView {
        let user = story.user
        return PageView(user.id, in: application, "Users", lead: "Has \(count(story.devices.count)).") {
            Section("Profile") {
                Facts {
                    Fact("Language", .text(user.profile.language ?? "not known"))
                    Fact("Time zone", .text(user.profile.timeZone ?? "not known"))
                    Fact("Profile made", .time(user.createdAt))
                    Fact("Changed", .time(user.updatedAt))
                    for (name, value) in user.profile.attributes.sorted(by: { $0.key < $1.key }) {
                        if case .time(let time) = value {
                            Fact(name, .time(time))
                        } else {
                            Fact(name, .text(value.text))
                        }
                    }
                }
                ButtonRow([
                    Link(
                        "Download all data",
                        Address.query(Address.of(application, "users", "export"), [("id", user.id)]))
                ])
            }
            Section("Devices") {
                Table(
                    "Devices", ["Device", "Platform", "Model", "System", "Registered"],
                    story.devices.map { device, platform in
                        [
                            [.link(device.label, Address.of(application, "devices", device.uuid.lowercased))],
                            [.text(platform.name)], [.text(device.about.model ?? "")],
                            [.text(device.about.osVersion ?? "")],
                            [.time(device.lastSeenAt)],
                        ]
                    }, empty: "No active device names this user.")
            }
            timeline(story, application)
        }
    }

    private static func timeline(_ story: UserDetails, _ application: Application) -> Section {
        Section(
            "What they were sent",
            text: "Newest first"
                + (story.devices.count > timelineDevices ? ", to the first \(timelineDevices) devices" : "")
                + ". An answer leads to what happened, and why."
        ) {
            story.history.table(
                application, showsDevice: true, Address.of(application, "users"), [("id", story.user.id)])
        }
    }
}

// MARK: - Changing and erasing

extension UserPages {
    private static func profileForm(_ user: User, _ application: Application) -> Form {
        let form = Form(
            Address.of(application, "users", "change"), "Save",
            [
                .text("language", "Language", user.profile.language ?? "", placeholder: "de-AT"),
                .text("time_zone", "Time zone", user.profile.timeZone ?? "", placeholder: "Europe/Vienna"),
                .area(
                    "attributes", "Attributes", user.profile.attributes.json.flat,
                    hint: #"A JSON object of texts, numbers, true, false and {"time": "2026-01-31T08:30:00Z"}."#,
                    isMono: true),
            ], hidden: [.init(name: "id", value: user.id)])
        return form.guarded
    }

    @Sendable private func change(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let id = visit.form.raw("id")
        guard let user = try await users.user(id, of: application) else { throw APIError.missing("user") }
        let form = Self.profileForm(user, application)
        return try await visit.trying(form, on: { try await page(id, visit, application, profile: $0) }) {
            try visit.form.checkZone(shownBy: form)
            guard case .object(let members) = try JSONValue(json: visit.form["attributes"].utf8, field: "attributes")
            else { throw InvalidInput(field: "attributes", "has to be a JSON object") }
            let wanted = try [String: UserAttribute](json: members)
            // What is not in the object any more is removed.
            var attributes = user.profile.attributes.mapValues { _ in UserAttribute?.none }
            for (name, value) in wanted { attributes[name] = .some(value) }
            let profile = UserProfile.Change(
                language: Self.change(visit.form["language"]), timeZone: Self.change(visit.form["time_zone"]),
                attributes: attributes)
            _ = try await users.set(id, of: application, profile, by: visit.author)
            return .redirect(Self.address(id, application, done: "saved"))
        }
    }

    private static func change(_ text: String) -> Registration.Change<String> { text.isEmpty ? .clear : .set(text) }

    private static func mergeForm(_ id: String, _ application: Application) -> Form {
        Form(
            Address.of(application, "users", "merge"), "Merge",
            [.text("into", "The id of the user that stays", isRequired: true)], hidden: [.init(name: "id", value: id)])
    }

    @Sendable private func merge(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let id = visit.form.raw("id")
        return try await visit.trying(
            Self.mergeForm(id, application), on: { try await page(id, visit, application, merge: $0) }
        ) {
            guard let other = try await users.user(visit.form["into"], of: application), other.id != id.asName else {
                throw InvalidInput(field: "into", "is not the id of another user")
            }
            let devices = try await users.devices(of: id, of: application).count
            let question = visit.question(
                "Merge “\(id)” into “\(other.id)”?", "Nothing tells them apart afterwards, so it cannot be undone.",
                [Fact("Devices that change their user", .number(devices))], yes: "Merge them",
                no: Self.address(id, application))
            if let question { return question }
            try await visit.searching(application) {
                _ = try await users.merge(id, into: other.id, of: application, by: visit.author)
            }
            return .redirect(Self.address(other.id, application, done: "merged"))
        }
    }

    private static func eraseForm(_ id: String, _ application: Application) -> Form {
        Form(
            Address.of(application, "users", "erase"), "Erase this user",
            [.text("confirm", "Type the user id to confirm", isRequired: true)], hidden: [.init(name: "id", value: id)],
            isDanger: true)
    }

    @Sendable private func erase(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let id = visit.form.raw("id")
        return try await visit.trying(
            Self.eraseForm(id, application), on: { try await page(id, visit, application, erase: $0) }
        ) {
            guard visit.form.confirms(id) else { throw InvalidInput(field: "confirm", "is not the id") }
            try await visit.searching(application) {
                try await users.erase(id, of: application, by: visit.author)
            }
            return .redirect(
                Address.query(Address.of(application, "users"), [("done", "erased")]))
        }
    }
}

// MARK: - The file

extension UserPages {
    @Sendable private func export(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let whole = try await visit.services.shares.holding(.exports, for: visit.holder(application)) {
            try await story(visit.query.raw("id"), visit, application, isWhole: true)
        }
        return .response(.file(Self.file(whole).flat, named: "user.json", type: "application/json"))
    }

    static func file(_ story: UserDetails) -> JSONValue {
        let (user, profile) = (story.user, story.user.profile)
        return .object([
            "user_id": .string(user.id), "language": .text(profile.language), "time_zone": .text(profile.timeZone),
            "attributes": profile.attributes.json, "created_at": .text(user.createdAt?.text),
            "updated_at": .text(user.updatedAt?.text),
            "devices": .array(
                story.devices.map { device, platform in file(device, on: platform, story.profiles[device.key]) }),
            "pushes": .array(
                story.history.entries.map { entry in
                    .object([
                        "receipt_id": .string(entry.push.receiptID.lowercased),
                        "accepted_at": .string(entry.push.acceptedAt.text),
                        "summary": .text(story.history.summaries[entry.push.key]),
                        "device_uuid": .string(entry.device.uuid.lowercased), "answer": .string(entry.answer.name),
                    ])
                }),
            "pushes_complete": .bool(story.history.next == nil),
            "messages": .array(
                story.messages.map { message in
                    .object([
                        "name": .string(message.name), "html": .string(message.html),
                        "sent_at": .string(message.sentAt.text), "read_at": .text(message.readAt?.text),
                    ])
                }),
        ])
    }

    private static func file(
        _ device: Device, on platform: Platform, _ known: (profile: DeviceProfile, detail: DeviceDetail?)?
    ) -> JSONValue {
        let about = device.about
        return .object([
            "device_uuid": .string(device.uuid.lowercased), "platform": .string(platform.name),
            "token": .text(device.token?.text(for: platform.kind)), "alias": .text(about.alias),
            "manufacturer": .text(about.manufacturer), "model": .text(about.model), "os": .text(about.os),
            "os_version": .text(about.osVersion), "topics": .strings(device.topics),
            "registered_at": .text(device.lastSeenAt?.text), "language": .text(known?.detail?.language),
            "time_zone": .text(known?.detail?.timeZone), "country": .text(known?.profile.country),
            "app_version": .text(known?.profile.appVersion),
            "attributes": .object(known?.profile.attributesJSON ?? [:]),
        ])
    }
}

extension JSONValue {
    /// A text, or null.
    fileprivate static func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }
}
