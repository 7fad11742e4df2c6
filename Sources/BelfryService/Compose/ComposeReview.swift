import FoundationEssentials

/// The pages before a push is sent: its audience, its look, and the same as a request.
extension ComposeContext {
    func review(_ written: ComposedPush, _ outlook: ComposeOutlook) async throws -> PageView {
        let isJSON = visit.form["mode"] == "json"
        var form = isJSON ? self.form.jsonForm(visit.form.raw("json")) : self.form.form(visit.form)
        (form.submit, form.isQuiet) = ("Review again", true)
        form.hidden.append(.init(name: "reviewed", value: String(outlook.count.devices)))
        var own = FieldGroup(
            "Try it first",
            [
                .text(
                    "my_device", "Your device", visit.form["my_device"],
                    hint: "Its UUID or its alias. The device of your last test is remembered.")
            ])
        if visit.form["my_device"].isEmpty, let remembered = try await rememberedDevice() {
            own.fields[0].value = remembered
        }
        form.foldedAs = isJSON ? "Edit the JSON" : "Edit the form"
        form.lastGroups = [own]
        form.others.append(.init(name: "action", value: "test", label: "Send to my device first"))
        if outlook.count.isLarge {
            form.lastGroups.append(
                FieldGroup(
                    "Many devices",
                    [
                        .text(
                            "confirm", "The application's name", visit.form["confirm"],
                            hint: "To send this to \(outlook.count.words), type: \(application.name)")
                    ]))
        }
        form.others.append(sendButton(outlook))
        return page(form, review: sections(written, outlook))
    }

    func sendButton(_ outlook: ComposeOutlook) -> Form.Submit {
        let verb = schedule != nil ? "Save it for" : outlook.isLater ? "Schedule it for" : "Send it to"
        return .init(name: "action", value: "send", label: "\(verb) \(outlook.count.words)", isMain: true)
    }

    /// To whom it goes, on which platforms, and when.
    func facts(of written: ComposedPush, _ outlook: ComposeOutlook) -> [Fact] {
        let now = visit.services.clock.now
        var facts = [
            Fact(
                "Goes to", .badge(outlook.count.words, outlook.count.isNone ? .warn : .good),
                .text(written.request.target.words))
        ]
        facts += outlook.platforms.map { Fact($0.name, .text(outlook.count.words(on: $0.key))) }
        if let local = written.local {
            facts.append(Fact("When", .text(local.words)))
        } else if let recurrence = written.recurrence {
            facts += [Fact("When", .text(recurrence.words)), Fact("Next", next(recurrence, now))]
        } else {
            facts.append(Fact("When", .time(written.sendAt.flatMap { $0 > now ? $0 : nil }, none: "now")))
        }
        return facts
    }

    private func sections(_ written: ComposedPush, _ outlook: ComposeOutlook) -> [Section] {
        let names = Dictionary(uniqueKeysWithValues: platforms.map { ($0.key, $0.name) })
        let before = Section("Before you send") {
            Facts { facts(of: written, outlook) + [Fact("Counted", .time(visit.services.clock.now))] }
            Warnings(outlook.warnings)
            Table(
                "A sample of the devices", ["Device", "Platform", "User", "System"],
                outlook.sample.map { device in
                    [
                        [.link(device.label, Address.of(application, "devices", device.uuid.lowercased))],
                        [.text(names[device.platformKey] ?? "")], [.text(device.customUserID ?? "")],
                        [.text([device.about.os, device.about.osVersion].compactMap(\.self).joined(separator: " "))],
                    ]
                }, empty: outlook.count.isNone ? "No device at present." : "None was found in time.")
        }
        let whose = outlook.sample.first.map { "the values of \($0.label)" } ?? "their defaults"
        let looks = Section(
            "How it looks",
            text: "Drawn from the payload that each provider gets. Fonts and folding differ by device."
                + (outlook.content.isPersonal ? " Placeholders have \(whose)." : "")
        ) { Previews(outlook.previews) }
        let request = Section("The same by the admin API") { Code("Shell", curl(written.json)) }
        return [before] + (outlook.previews.isEmpty ? [] : [looks]) + [request]
    }

    private func next(_ recurrence: Recurrence, _ now: Instant) -> [Value] {
        recurrence.times(after: schedule == nil ? recurrence.begin(at: now) : now, atMost: 5).map { time in
            recurrence.isLocal ? .text(recurrence.localTime(at: time).words) : .time(time)
        }
    }

    private func curl(_ json: JSONValue) -> String {
        let path = "admin/v1/apps/\(application.uuid.lowercased)/"
        let url = "\(visit.serverURL)/\(path)\(schedule.map { "schedules/\($0.key.id)" } ?? "pushes")"
        // By the byte: to Swift a quote with an accent is another character, to a shell it is a quote.
        let quoted = json.pretty.utf8.flatMap { $0 == UInt8(ascii: "'") ? Array("'\\''".utf8) : [$0] }
        let body = String(decoding: quoted, as: UTF8.self)
        let method = schedule == nil ? "" : "-X PATCH "
        return "curl \(method)-H \"Authorization: Bearer $KEY\" \(url) \\\n  -d '\(body)'"
    }

    // MARK: At a place

    func review(_ plan: GeofencePlan, at place: ComposePlace) -> PageView {
        var form = self.form.form(visit.form)
        (form.submit, form.isQuiet) = ("Review again", true)
        form.foldedAs = "Edit the form"
        form.others.append(.init(name: "action", value: "send", label: "Make the geofence", isMain: true))
        let section = Section(
            "Before you make it",
            text: "Devices learn of the geofence, and show its text by themselves when they come or go."
        ) {
            Facts {
                Fact("Where", .text(place.name))
                Fact("When the device", .text(plan.trigger == .enter ? "enters" : "leaves"))
                Fact("Platforms", .text(plan.platform.rawValue))
                Fact("Subscribers of", .text(plan.tags.isEmpty ? "anything" : plan.tags.joined(separator: ", ")))
                Fact("From", .time(plan.startsAt == .zero ? nil : plan.startsAt, none: "now"))
                Fact("Until", .time(plan.expiresAt))
            }
            Code("What devices get", JSONValue.object(plan.data.parts).pretty)
        }
        return page(form, review: [section])
    }
}
