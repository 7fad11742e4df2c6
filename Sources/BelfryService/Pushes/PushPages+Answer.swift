import FoundationEssentials

// The page on the answer of one device to one push: what happened, why, and what helps.

extension PushPages {
    var answerRoutes: [PageRoute] { [make.receipt(.get, "/devices/:device_uuid", .read, showAnswer)] }

    @Sendable private func showAnswer(
        _ visit: DashboardRequest, _ receipt: Receipt, _ application: Application
    ) async throws -> PageAnswer {
        let (store, push) = (visit.services.store, receipt.push)
        guard let uuid = visit.uuid("device_uuid"), let found = try await store.device(uuid, of: application.key) else {
            throw APIError.missing("device")
        }
        let delivery = try await store.delivery(of: found.0.key, in: push.key)
        let isPending = delivery?.answer ?? .pending == .pending
        let story = DeliveryStory(
            receipt: receipt, request: try await visit.request(of: receipt), device: found.0, platform: found.1,
            delivery: delivery, reports: try await store.reports(of: found.0, in: push.key),
            nodes: isPending
                ? NodeTrouble(try await store.nodes(), absence: nil, acceptedAt: push.acceptedAt) : .none,
            now: visit.services.clock.now)
        var page = story.page(application)
        if isPending, receipt.settledAt == nil { page.live = Address.of(application, "events") }
        return .page(page)
    }
}

/// The story of one device and one push.
struct DeliveryStory: Sendable {
    let receipt: Receipt
    /// nil where it cannot be read, or was deleted.
    let request: PushRequest?
    let device: Device
    let platform: Platform
    /// nil where no batch has the device.
    let delivery: DeviceDelivery?
    let reports: Set<PushReport>
    let nodes: NodeTrouble
    let now: Instant

    private var isOutside: Bool { delivery == nil && receipt.isFannedOut }

    private var advice: DeliveryAdvice {
        DeliveryAdvice(
            delivery, isActive: device.isActive, registeredAt: device.lastSeenAt, parked: ParkedPlatform(platform),
            nodes: nodes, now: now)
    }

    func page(_ application: Application) -> PageView {
        let push = receipt.push.address(in: application)
        var page = PageView(
            device.label, in: application, "Pushes", lead: "This device and this push: what happened, and why."
        ) {
            Section {
                Facts {
                    if isOutside {
                        Fact("Answer", .badge("Not in the audience", .calm))
                        Fact("Why", .text(absence.joined(separator: " ")))
                    } else {
                        let answer = delivery?.answer ?? .pending
                        Fact("Answer", answer.values())
                        Fact("Why", .text(answer.words.reason.sentence))
                        if let help = help(answer) { Fact("What helps", .text(help.sentence)) }
                        Fact("Next", .text(advice.next.sentence))
                    }
                    Fact("Push", .link(request?.content.summary ?? "Push", push))
                    Fact(
                        "Device", .link(device.label, Address.of(application, "devices", device.uuid.lowercased)),
                        device.state)
                    Fact(
                        "Platform",
                        .link(platform.name, Address.of(application, "platforms", platform.uuid.lowercased)))
                    Fact(
                        "User",
                        device.customUserID.map {
                            .link($0, Address.query(Address.of(application, "users"), [("id", $0)]))
                        } ?? .text("none"))
                }
            }
            if !isOutside { Section("What happened") { Timeline(moments) } }
        }
        page.crumbs.append(Link(request?.content.summary ?? "Push", push))
        return page
    }

    /// The remedy of an answer; why a device whose token was dead is active; why one without an answer waits.
    private func help(_ answer: Answer) -> String? {
        answer == .pending || answer == .gone && device.isActive ? advice.help : answer.words.remedy
    }

    private var moments: [Timeline.Moment] {
        var moments = [
            Timeline.Moment(
                receipt.push.acceptedAt, "Push accepted", "Urgency \(receipt.push.lane.word). The server has stored it."
            )
        ]
        guard let delivery else {
            return moments + [Timeline.Moment(nil, "Looking up the audience", advice.next.sentence)]
        }
        let claims = delivery.claims
        moments.append(
            Timeline.Moment(
                nil, "Put into a batch",
                claims == 0
                    ? "No server has taken it up yet."
                    : "Taken up \(claims == 1 ? "once" : "\(Int(claims).grouped) times") to be sent on \(platform.name)."
            ))
        moments += delivery.attempts.map {
            Timeline.Moment($0.at, "Attempt \($0.number)", $0.answer.sentence, .calm)
        }
        if delivery.answer == .pending {
            let next: Instant? = if case .attempt(let at) = delivery.next, at > now { at } else { nil }
            moments.append(Timeline.Moment(next, "Next", advice.next.sentence, .calm))
        } else {
            let at = [delivery.answeredAt, delivery.attempts.last?.at].compactMap(\.self).max()
            moments.append(
                Timeline.Moment(
                    at, delivery.answer.words.title, delivery.answer.words.reason.sentence, delivery.answer.tone))
            if let registeredAt = device.lastSeenAt, let at, registeredAt > at {
                moments.append(
                    Timeline.Moment(registeredAt, "Registered again", "The app reported its token to the server."))
            }
        }
        for (report, title) in [(PushReport.received, "Received"), (.opened, "Opened")] where reports.contains(report) {
            moments.append(Timeline.Moment(nil, title, "The app reported it; when is not kept.", .good))
        }
        return moments
    }

    /// Why the push did not look for the device, as far as the store knows it.
    private var absence: [String] {
        var reasons: [String] = []
        if !device.isActive { reasons.append("The device is inactive: it unregistered, or its token died.") }
        if let registeredAt = device.lastSeenAt, registeredAt > receipt.push.acceptedAt {
            reasons.append("It last registered at \(registeredAt.minute), after the push was accepted.")
        }
        guard let target = request?.target else { return reasons + ["The target of the push is no longer known."] }
        if let platforms = target.platforms, !platforms.contains(platform.kind) {
            reasons.append("The push is not for its type of platform.")
        }
        let isNamed =
            target.devices?.contains(device.uuid)
            ?? (target.topics.isEmpty && target.customUserIDs.isEmpty
                || !Set(target.topics).isDisjoint(with: device.topics)
                || device.customUserID.map(target.customUserIDs.contains) ?? false)
        if target.expression != nil || !isNamed {
            reasons.append("The target of the push does not mean it: \(target.words).")
        }
        return reasons.isEmpty ? ["It was not in the audience when the push was sent."] : reasons
    }
}

/// Events, one after the other.
struct Timeline: Component {
    private let moments: [Moment]

    struct Moment: Sendable {
        /// nil where it is not known.
        let at: Instant?
        let title: String
        let text: String
        let tone: Value.Tone

        init(_ at: Instant?, _ title: String, _ text: String, _ tone: Value.Tone = .calm) {
            (self.at, self.title, self.text, self.tone) = (at, title, text, tone)
        }
    }

    init(_ moments: [Moment]) { self.moments = moments }

    var content: [any HTML] {
        Tag("ol", ["class": "timeline"]) {
            for moment in moments {
                Tag("li", ["class": moment.tone.rawValue]) {
                    Tag("b", moment.title)
                    if let at = moment.at {
                        " "
                        Value.time(at)
                    }
                    Tag("p", ["dir": "auto"], moment.text)
                }
            }
        }
    }
}
