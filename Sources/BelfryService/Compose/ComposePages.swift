import FoundationEssentials
import Hummingbird

/// Writing a push: the form, its JSON, the review with the size of the audience, and sending it; and the same for a schedule.
struct ComposePages {
    let make: RouteMaker

    /// Room for a form with the most device ids, and a file of them.
    static let bodyBytesMax = 512 << 10
    private static let reviewedMax = 1_000_000_000

    var routes: [PageRoute] {
        [
            make.application(.get, "compose", .send) { try await show($0, $1, nil) },
            make.application(.post, "compose", .send) { try await act($0, $1, nil) }.taking(bytes: Self.bodyBytesMax),
            make.application(.post, "compose/draft", .send) { try await keepDraft($0, $1, nil) }
                .taking(bytes: Self.bodyBytesMax),
            make.application(.post, "compose/aside", .send) { try await aside($0, $1, nil) }
                .taking(bytes: Self.bodyBytesMax),
            make.application(.post, "compose/discard", .send) { visit, application in
                _ = try await visit.services.store.deleteDraft(at: visit.draftPlace(application, nil))
                return .redirect(Self.anew(application))
            },
            make.schedule(.post, "/draft", .send) { try await keepDraft($0, $2, $1) }.taking(bytes: Self.bodyBytesMax),
            make.schedule(.post, "/aside", .send) { try await aside($0, $2, $1) }.taking(bytes: Self.bodyBytesMax),
            make.schedule(.post, "/discard", .send) { visit, schedule, application in
                _ = try await visit.services.store.deleteDraft(at: visit.draftPlace(application, schedule))
                return .redirect(Address.of(application, "schedules", schedule.key.id, "edit"))
            },
            make.schedule(.get, "/edit", .send) { try await show($0, $2, $1) },
            make.schedule(.post, "/edit", .send) { try await act($0, $2, $1) }.taking(bytes: Self.bodyBytesMax),
        ]
    }

    // MARK: The form

    private func show(_ visit: DashboardRequest, _ application: Application, _ schedule: Schedule?) async throws
        -> PageAnswer
    {
        var context = try await ComposeContext(visit, application, schedule)
        guard !context.platforms.isEmpty else { return .page(Self.withoutPlatforms(application)) }
        guard !application.deliveryRules.takesEncryptedOnly else { return .page(Self.encryptedOnly(application)) }
        if let schedule {
            guard schedule.ending == nil else { return .redirect(Self.late(application)) }
            if let draft = try await draft(context) { return .page(draft) }
            return .page(
                context.page(
                    context.form.form(
                        context.form.data(
                            of: schedule.pushRequest, sendAt: schedule.dueAt, recurring: schedule.recurrence))))
        }
        let drafts = try await visit.services.store.drafts(of: visit.person.key, in: application.key)
        // The address has the number of the draft: F5 and Back lead to it, whatever other tabs have begun.
        guard let number = context.held?.draftNumber ?? visit.query.draftNumber else {
            let isBegun = ["from", "schedule", "device", "topic", "user", "segment", "template", FormData.draftField]
                .contains {
                    visit.query.isChecked($0)
                }
            let newest = isBegun ? nil : drafts.first?.number
            let query = visit.query.pairs.filter { $0.name != FormData.draftField }
            let named = (FormData.draftField, "\(newest ?? context.draftNumber)")
            return .redirect(Address.query(Address.of(application, "compose"), query + [named]))
        }
        context.draftNumber = number
        var page: PageView
        if let draft = try await draft(context) {
            page = draft
        } else {
            // The push of this number was sent: this is F5 or Back after it.
            let mark = Self.sentMark(context.draftNumber, visit)
            guard try await visit.services.store.answer(to: mark.name) == nil else {
                return .redirect(Self.anew(application))
            }
            let begun = try await earlier(visit, application) ?? visit.query.asRequest
            page = context.page(context.form.form(begun.map { context.form.data(of: $0) } ?? FormData()))
        }
        let others = drafts.filter { $0.number != number }
        if !others.isEmpty { page.sections.append(Self.list(others, application)) }
        return .page(page)
    }

    /// The form as the person left it; nil where there is nothing, or a schedule was changed since.
    private func draft(_ context: ComposeContext) async throws -> PageView? {
        let kept = try await context.visit.services.store.draft(at: context.draftPlace)
        guard let data = try context.held ?? kept.map({ try FormData(urlEncoded: $0.text) }) else { return nil }
        if let schedule = context.schedule, data["version"] != "\(schedule.version)" { return nil }
        var page = context.page(
            data["mode"] == "json" ? context.form.jsonForm(data.raw("json")) : context.form.form(data))
        guard context.held == nil, let kept else { return page }
        var discard = Form.button(context.draftAddress("discard"), "Discard it and start over")
        discard.hidden = context.draftFields
        page.sections.insert(
            Section(text: "You wrote this until \(kept.savedAt.minute) and have not sent it. It is kept for a week.") {
                ButtonRow([discard])
                if context.schedule == nil {
                    ButtonRow([Link("Keep it, and write another", Self.anew(context.application))])
                }
            }, at: 0)
        return page
    }

    /// Other pushes that the person has begun.
    private static func list(_ drafts: [ComposeDraft.Entry], _ application: Application) -> Section {
        Section("Other drafts") {
            ButtonRow(
                drafts.map {
                    Link(
                        "Until \($0.savedAt.minute)",
                        Address.query(Address.of(application, "compose"), [("draft", "\($0.number)")]))
                })
        }
    }

    private static func anew(_ application: Application) -> String {
        Address.query(Address.of(application, "compose"), [("draft", "new")])
    }

    /// Keeps a draft of the typed values, if there are any.
    private func keepDraft(_ visit: DashboardRequest, _ application: Application, _ schedule: Schedule?) async throws
        -> PageAnswer
    {
        if let text = visit.form.draft {
            try await visit.services.store.keepDraft(text, at: visit.draftPlace(application, schedule))
        }
        return .response(Response(status: .noContent))
    }

    /// Answers the column beside the form: its devices, warnings and looks as it is now.
    private func aside(_ visit: DashboardRequest, _ application: Application, _ schedule: Schedule?) async throws
        -> PageAnswer
    {
        let (form, fault) = DeviceFile.merged(into: visit.form)
        var visit = visit
        visit.form = form
        return .response(.html(try await ComposeContext(visit, application, schedule).aside(fault)))
    }

    /// Does work that ends a draft, in one of the tabs that show it. The other tabs get a page that says so.
    private func takingDraft(
        _ visit: DashboardRequest, _ context: ComposeContext, _ work: () async throws -> PageAnswer
    ) async throws -> PageAnswer {
        let store = visit.services.store
        let place = visit.draftPlace(context.application, context.schedule)
        // A schedule has a version, which says more.
        let isMarked = place.number > 0 && visit.form[FormData.resendField].isEmpty
        let mark = Self.sentMark(place.number, visit)
        if isMarked, try await store.reserve(mark) != .first(idempotentID: mark.idempotentID) {
            return .invalid(Self.sentElsewhere(visit, context))
        }
        let answer: PageAnswer
        do { answer = try await work() } catch {
            if isMarked { try? await store.release(mark.name, idempotentID: mark.idempotentID, hadNoEffect: true) }
            throw error
        }
        // The push is accepted, whatever becomes of its draft.
        if isMarked {
            let once = DoneOnce(store: store, vault: visit.services.vault)
            await once.keep([], status: 303, for: .init(mark.name, mark.idempotentID, visit.context.logger))
        }
        _ = try? await store.deleteDraft(at: place)
        return answer
    }

    /// The record that the push of a draft was sent.
    private static func sentMark(_ number: Int64, _ visit: DashboardRequest) -> Reservation {
        SingleUse.mark("draft \(number)", visit)
    }

    private static func sentElsewhere(_ visit: DashboardRequest, _ context: ComposeContext) -> PageView {
        var page = PageView("Sent in another tab")
        page.lead =
            "The push that you began here was sent in another tab. If you send this too, it is sent a second time."
        page.actions = [Link("See the pushes", Address.of(context.application, "pushes"))]
        var form = Form(
            context.form.action, "Send it anyway",
            hidden: visit.form.typed.map { Form.Hidden(name: $0.name, value: $0.value) })
        form.hidden.append(.init(name: FormData.resendField, value: "yes"))
        page.sections = [Section("Again") { form }]
        return page
    }

    static func late(_ application: Application) -> String {
        Address.query(Address.of(application, "schedules"), [("done", "late")])
    }

    static func withoutPlatforms(_ application: Application) -> PageView {
        var page = PageView(
            "Compose", in: application, lead: "Add a platform first: without one there is no device to send to.")
        page.actions = [Link("Add a platform", Address.of(application, "platforms", "new"), isMain: true)]
        return page
    }

    private static func encryptedOnly(_ application: Application) -> PageView {
        var page = PageView(
            "Compose", in: application,
            lead:
                "This application takes only messages that are encrypted for each device, which this server cannot do: "
                + "your back end sends them.")
        page.actions = [Link("Settings", Address.of(application, "settings"))]
        return page
    }

    /// The push or the schedule that the new one is a copy of.
    private func earlier(_ visit: DashboardRequest, _ application: Application) async throws -> PushRequest? {
        if let key = Key<Schedule>(id: visit.query["schedule"]) {
            return try await visit.services.store.schedule(key, of: application.key)?.pushRequest
        }
        guard let id = UUID(text: visit.query["from"]), let receipt = try await visit.services.store.receipt(id),
            receipt.push.applicationKey == application.key
        else { return nil }
        return try await visit.request(of: receipt)
    }

    // MARK: What is done with it

    private func act(_ visit: DashboardRequest, _ application: Application, _ schedule: Schedule?) async throws
        -> PageAnswer
    {
        let (form, fault) = DeviceFile.merged(into: visit.form)
        var visit = visit
        visit.form = form
        if form["action"] != "send" { _ = try await keepDraft(visit, application, schedule) }
        let context = try await ComposeContext(visit, application, schedule)
        let isJSON = form["mode"] == "json"
        let filled = isJSON ? context.form.jsonForm(form.raw("json")) : context.form.form(form)
        let written = visit
        return try await visit.trying(filled, names: ComposeForm.names, on: { context.page($0) }) {
            do {
                if let fault { throw fault }
                return try await act(written, context)
            } catch let fault as InvalidInput where isJSON && fault.field != "json" && fault.field != "confirm" {
                throw InvalidInput(field: "json", fault.description)
            }
        }
    }

    private func act(_ visit: DashboardRequest, _ context: ComposeContext) async throws -> PageAnswer {
        let json = try context.form.request(visit.form)
        if visit.form["action"] == "json" {
            guard visit.form["audience"] != "place" else {
                throw InvalidInput(field: "audience", "is a place: a geofence is no push, the API has its own for it")
            }
            return .page(context.page(context.form.jsonForm(json.pretty)))
        }
        guard visit.form["mode"] == "json" || !context.form.isBlank(visit.form) else {
            throw InvalidInput(field: "body", "is empty, and there is no content for single platforms")
        }
        let written = try ComposedPush(json)
        if visit.form["action"] == "form" {
            return .page(
                context.page(
                    context.form.form(
                        context.form.data(
                            of: written.request, sendAt: written.sendAt, recurring: written.recurrence))))
        }
        try written.checkTimes(of: context.schedule, at: visit.services.clock.now)
        if visit.form["audience"] == "place", visit.form["mode"] != "json" {
            return try await fence(visit, context, written)
        }
        let outlook = try await context.outlook(of: written)
        switch visit.form["action"] {
        case "test": return try await test(visit, context, written, outlook)
        case "send":
            // The audience may have grown since it was shown, or what stood beside the form was shown for another.
            let reviewed = Int(visit.form["reviewed"]) ?? -1
            let shown = visit.form[FormData.reviewedField]
            guard 0...Self.reviewedMax ~= reviewed, outlook.count.devices <= max(reviewed * 2, reviewed + 100),
                shown.isEmpty || shown == visit.form.reviewedDigest
            else { break }
            if outlook.count.isLarge, !visit.form.confirms(context.application.name) {
                var page = try await context.review(written, outlook)
                page.sections[page.sections.count - 1].change(Form.self) {
                    $0.show("has to be the name: \(context.application.name)", at: "confirm")
                }
                return .invalid(page)
            }
            return try await takingDraft(visit, context) { try await send(visit, context, written) }
        default: break
        }
        return .page(try await context.review(written, outlook))
    }

    private func send(_ visit: DashboardRequest, _ context: ComposeContext, _ written: ComposedPush) async throws
        -> PageAnswer
    {
        let (application, pushes) = (context.application, visit.services.pushes)
        if let schedule = context.schedule {
            let change = try written.change(of: schedule, readAt: visit.form["version"])
            let changed: Schedule?
            do {
                changed = try await pushes.change(schedule.key, of: application, change, by: visit.author)
            } catch is EditConflict { throw ComposedPush.isOlder }
            guard changed != nil else { return .redirect(Self.late(application)) }
            return .redirect(
                Address.query(Address.of(application, "schedules", schedule.key.id), [("done", "changed")]))
        }
        if let local = written.local?.made(at: visit.services.clock.now) {
            _ = try await pushes.schedule(written.request, at: local, for: application, by: visit.author)
        } else if let recurrence = written.recurrence {
            _ = try await pushes.schedule(written.request, recurring: recurrence, for: application, by: visit.author)
        } else if let sendAt = written.sendAt, sendAt > visit.services.clock.now {
            _ = try await pushes.schedule(written.request, at: sendAt, for: application, by: visit.author)
        } else {
            let push = try await pushes.send(written.request, for: application, by: visit.author)
            return .redirect(
                Address.query(Address.of(application, "pushes", push.receiptID.lowercased), [("done", "sent")]))
        }
        return .redirect(Address.query(Address.of(application, "schedules"), [("done", "scheduled")]))
    }

    /// Sends it to the person's own device, and comes back with the provider's verdict.
    private func test(
        _ visit: DashboardRequest, _ context: ComposeContext, _ written: ComposedPush,
        _ outlook: ComposeOutlook
    ) async throws -> PageAnswer {
        let deadline = ContinuousClock.now + visit.services.options.verdictDeadline
        let answer: Answer
        do {
            let device = try await context.ownDevice(named: visit.form["my_device"])
            answer = try await visit.services.shares.holding(.tests, for: visit.holder(context.application)) {
                let push = try await visit.services.pushes.sendTest(
                    written.request, to: device, of: context.application, by: visit.author)
                return try await visit.services.pushes.verdict(on: device, of: push, by: deadline)
            }
        } catch let fault as InvalidInput where fault.field == "my_device" {
            var page = try await context.review(written, outlook)
            page.sections[page.sections.count - 1].change(Form.self) { $0.show(fault.problem, at: fault.field) }
            return .invalid(page)
        }
        var page = try await context.review(written, outlook)
        switch answer {
        case .accepted: page.notice = "Your device: the provider accepted it."
        case .pending: page.problem = "Your device: the provider has not answered yet."
        default: page.problem = "Your device did not get it: \(answer.name)"
        }
        return .outcome(page)
    }

    /// Makes a geofence that shows the push on the device, or shows the geofence before that.
    private func fence(_ visit: DashboardRequest, _ context: ComposeContext, _ written: ComposedPush) async throws
        -> PageAnswer
    {
        let application = context.application
        try visit.require(.change, on: Permission.Subject(application), called: "app")
        guard let place = context.form.places.first(where: { $0.id == visit.form["place"] }) else {
            throw InvalidInput(field: "place", "is missing")
        }
        let plan = try written.plan(
            at: place, trigger: visit.form["trigger"], topics: visit.form.list("names"),
            platform: try context.fencePlatform(visit.form))
        guard visit.form["action"] == "send" else { return .page(context.review(plan, at: place)) }
        return try await takingDraft(visit, context) {
            _ = try await visit.services.all.places.create(plan, of: application, by: visit.author)
            return .redirect(Address.query(Address.of(application, "places"), [("done", "saved")]))
        }
    }
}

extension DashboardRequest {
    fileprivate func draftPlace(_ application: Application, _ schedule: Schedule?) -> ComposeDraft.Place {
        ComposeDraft.Place(person.key, application.key, schedule?.key, number: form.draftNumber ?? 0)
    }
}

extension FormData {
    /// The draft to keep of a push that is being written; nil where nothing was typed, and for one longer than any form sends.
    var draft: String? {
        let kept = typed.filter { !Self.ofReview.contains($0.name) && !$0.value.isEmpty }
        guard kept.contains(where: { !Self.isChoice($0.name) }) else { return nil }
        let text = Self.urlEncoded(kept)
        return text.utf8.count <= ComposeDraft.bytesMax ? text : nil
    }

    private static let ofReview: Set = ["action", "reviewed", reviewedField, "confirm", draftField, resendField]

    /// The hidden field with the digest of the form that was shown with a button to send it at once.
    static let reviewedField = "reviewed_form"
    var reviewedDigest: String { digest(but: Self.ownFields.union(Self.ofReview)).hex }

    /// The hidden fields with the number of a draft, and of a draft that is sent once more.
    fileprivate static let resendField = "resend"
    static let draftField = "draft"

    /// nil where the form is of no draft.
    var draftNumber: Int64? { Int64(self[Self.draftField]).flatMap { $0 >= 0 ? $0 : nil } }

    /// Fields that are never empty.
    private static func isChoice(_ name: String) -> Bool {
        ["audience", "place", "segment", "trigger", "my_device", "version", zoneField].contains(name)
            || name.hasPrefix("on-")
    }

    /// A push of the template, or an empty one to the topic, user, segment or device, that a page links with; nil where there is none.
    fileprivate var asRequest: PushRequest? {
        if let reference = try? TemplateReference(self["template"], field: "template") {
            var content = Push.Content()
            content.template = reference
            return PushRequest(content: content, target: .everyone)
        }
        let target: Target? =
            if let device = UUID(text: self["device"]) {
                try? Target(devices: [device])
            } else if !self["topic"].isEmpty {
                try? Target(topics: [self["topic"]])
            } else if !self["user"].isEmpty {
                try? Target(customUserIDs: [self["user"]])
            } else if let segment = try? Segment.checked(name: self["segment"]) {
                Target(.term(.segment(segment)))
            } else {
                nil
            }
        return target.map { PushRequest(content: Push.Content(), target: $0) }
    }
}
