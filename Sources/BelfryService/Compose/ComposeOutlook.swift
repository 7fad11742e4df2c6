import FoundationEssentials

/// A push as it would go out now: its devices, what speaks against it, and how it looks. Review and the column beside the form show the same.
struct ComposeOutlook: Sendable {
    let count: AudienceCount
    let sample: [Device]
    /// The message, over that of a template.
    let content: Push.Content
    /// The platforms that it goes to.
    let platforms: [Platform]
    let previews: [Preview]
    let warnings: [[Value]]
    let isLater: Bool
}

extension ComposeContext {
    private var now: Instant { visit.services.clock.now }

    func outlook(of written: ComposedPush) async throws -> ComposeOutlook {
        let (store, target) = (visit.services.store, written.request.target)
        let (draft, count, sample, topics) = try await visit.searching(application) {
            let draft = try await visit.services.pushes.preview(written.request, for: application.key)
            return (
                draft, try await AudienceCount.of(draft, in: store), try await AudienceSample.of(draft, in: store),
                try await warnings(ofTopicsOf: target)
            )
        }
        let meant = target.platforms(of: platforms).filter { draft.content.isMeant(for: $0.kind) }
        let previews = Preview.all(
            of: draft.content, shown: try await shown(draft.content, to: sample.first), on: Set(meant.map(\.kind)),
            for: application.name, at: written.sendAt ?? now)
        return ComposeOutlook(
            count: count, sample: sample, content: draft.content, platforms: meant, previews: previews,
            warnings: warnings(of: written, draft, count, meant) + topics,
            isLater: written.recurrence != nil || written.local != nil || written.sendAt.map { $0 > now } ?? false)
    }

    /// The content with the values of a device; with the defaults where there is none.
    private func shown(_ content: Push.Content, to device: Device?) async throws -> Push.Content {
        guard let device, let platform = platforms.first(where: { $0.key == device.platformKey })
        else { return try content.filled(with: PersonalizedValues(.init(badge: 1))) }
        return try await visit.services.store.sample(of: content, on: device.key, platform)
    }

    // MARK: Warnings

    private func warnings(
        of written: ComposedPush, _ draft: NewPush, _ count: AudienceCount, _ meant: [Platform]
    ) -> [[Value]] {
        var warnings: [[Value]] = count.isNone ? [[.text("No device would get it now.")]] : []
        for platform in meant where count.byPlatform[platform.key] != 0 {
            guard platform.parked != nil || !platform.parkedServices.isEmpty else { continue }
            let part = platform.parked == nil ? "Some push services of " : ""
            warnings.append([
                .text("\(part)“\(platform.name)” is parked: its devices wait until it is resumed."),
                .link("See why", Address.of(application, "platforms", platform.uuid.lowercased)),
            ])
        }
        if draft.unknownDevices.count > 0 {
            warnings.append([.text("Named, but not known here: \(draft.unknownDevices.count.grouped).")])
        }
        if let sendAt = written.sendAt, sendAt <= now, sendAt > now + (.zero - PushTimes.lateMax) {
            warnings.append([.text("Its time is past: it goes at once.")])
        }
        if let end = written.request.expiresAt, let perMinute = draft.content.pacing.perMinute,
            max(written.sendAt ?? now, now) + .seconds(60 * ((count.devices - 1) / perMinute)) > end
        {
            warnings.append([
                .text("It expires before all have it: \(count.words) at \(perMinute.grouped) a minute take longer.")
            ])
        }
        return warnings + draft.tooLarge.map { [.text($0.ofDevices)] }
    }

    /// The most topics that are looked up, that are warned of, and that one may be a slip of.
    private static let (topicsMax, slipsMax, nearMax) = (64, 5, 500)

    private func warnings(ofTopicsOf target: Target) async throws -> [[Value]] {
        let store = visit.services.store
        var warnings: [[Value]] = []
        for name in target.asExpression.topics.prefix(Self.topicsMax) where warnings.count < Self.slipsMax {
            guard try await store.topic(named: name, of: application.key) == nil else { continue }
            let near = try await store.topics(of: application.key, after: String(name.prefix(1)), limit: Self.nearMax)
                .map(\.name).nearest(to: name)
            warnings.append([.text("There is no topic “\(name)”" + (near.map { ": is “\($0)” meant?" } ?? "."))])
        }
        return warnings
    }

    // MARK: Beside the form

    /// The parts of the column beside the form, as a script shows them: numbers and warnings, the button that sends it, how it looks, and
    /// topics that complete the last name.
    ///
    /// - Parameter fault: of an uploaded file.
    func aside(_ fault: InvalidInput?) async throws -> String {
        var (fault, outlook) = (fault, ComposeOutlook?.none)
        let isBlank = visit.form["mode"] != "json" && form.isBlank(visit.form)
        let isPlace = visit.form["mode"] != "json" && visit.form["audience"] == "place"
        var data = visit.form
        // An audience is counted before there is a message for it.
        if isBlank { data.put(ComposeForm.body.name, "…") }
        var facts: [Fact] = []
        do {
            let written = try ComposedPush(form.request(data))
            do throws(InvalidInput) { try written.checkTimes(of: schedule, at: now) } catch { fault = fault ?? error }
            if !isPlace { outlook = try await self.outlook(of: written) }
            facts = outlook.map { self.facts(of: written, $0) } ?? []
        } catch let error as InvalidInput {
            fault = fault ?? error
        }
        let topics = try await topics()
        var shell = Shell()
        shell.path = visit.services.options.address.path
        var writer = HTMLWriter(shell)
        let previews = isBlank ? [] : outlook?.previews ?? looks(data)
        writer.write([
            Tag("div") {
                if isPlace { Tag("p", "A geofence: Review shows what its devices get.") }
                Facts { facts }
                Warnings((fault.map { [[.text(words(of: $0))]] } ?? []) + (outlook?.warnings ?? []))
            },
            Tag("div") { if let outlook, fault == nil, !isBlank { sending(outlook) } },
            Tag("div") {
                if isBlank { Tag("p", ["class": "hint"], "The message is shown here as devices show it.") }
                Previews(previews.map(\.brief))
            },
            Tag("div") { topics },
        ])
        return writer.text
    }

    /// The button that sends it without another look; for many devices Review asks first.
    @HTMLBuilder private func sending(_ outlook: ComposeOutlook) -> [any HTML] {
        if outlook.count.isLarge {
            Tag("p", ["class": "hint"], "For so many devices, Review asks for the application's name.")
        } else if outlook.count.devices > 0 {
            Form.Hidden(name: "reviewed", value: String(outlook.count.devices))
            Form.Hidden(name: FormData.reviewedField, value: visit.form.reviewedDigest)
            sendButton(outlook)
        }
    }

    /// How the message looks while its audience is not right yet; empty where the message is wrong.
    private func looks(_ data: FormData) -> [Preview] {
        var data = data
        for name in ["names", "also_users", "where", "target"] { data.put(name, "") }
        data.put("audience", "everyone")
        guard let written = try? ComposedPush(form.request(data)) else { return [] }
        return Preview.all(of: written.request.content, on: Set(form.kinds), for: application.name, at: now)
    }

    /// The fault with the label of its field.
    private func words(of fault: InvalidInput) -> String {
        var form = visit.form["mode"] == "json" ? self.form.jsonForm("") : self.form.form(visit.form)
        form.show(fault.problem, at: fault.field, names: ComposeForm.names)
        let field = (form.fields + form.groups.flatMap(\.fields)).first(where: \.isWrong)
        return field.map { "\($0.label): \($0.problem)" } ?? form.problem
    }

    /// The topics that are offered at once.
    private static let offersMax = 8

    /// Topics that complete the last name, with their subscribers. The value of each button is all names with that one.
    private func topics() async throws -> [Tag] {
        guard ["topics", "place"].contains(visit.form["audience"]) else { return [] }
        let store = visit.services.store
        let isOpen = visit.form.raw("names").last.map { !$0.isNewline && $0 != "," } ?? false
        var (kept, text) = (visit.form.list("names"), String?.none)
        if isOpen, let last = kept.last,
            try await store.topic(named: last.asName.caseFolded, of: application.key) == nil
        {
            (text, _) = (last, kept.removeLast())
        }
        return try await visit.searching(application) {
            let found =
                if let text {
                    try await store.topics(
                        TopicQuery(applicationKey: application.key, text: text), skip: 0, limit: Self.topicsMax
                    ).elements
                } else {
                    try await store.topics(of: application.key, after: nil, limit: Self.topicsMax)
                }
            var buttons: [Tag] = []
            for topic in found where buttons.count < Self.offersMax && !kept.contains(topic.name) {
                let count = try await store.deviceCount(
                    DeviceSearch(platforms: platforms.map(\.key), topic: topic.name))
                buttons.append(
                    Tag(
                        "button", ["type": "button", "value": ListedNames.write(kept + [topic.name]) + "\n"],
                        "\(topic.name) · \(count.grouped)"))
            }
            return buttons
        }
    }
}

/// A list of warnings about a push.
struct Warnings: Component {
    private let warnings: [[Value]]

    init(_ warnings: [[Value]]) { self.warnings = warnings }

    var content: [any HTML] {
        Tag("ul", ["class": "warnings"]) {
            for values in warnings { Tag("li") { values.spaced } }
        }
    }
}
