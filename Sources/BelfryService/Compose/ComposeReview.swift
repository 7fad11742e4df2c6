import FoundationEssentials

/// The pages before a push is sent: its audience, its look, and the same as a request.
extension ComposeContext {
    func review(_ written: ComposedPush, _ audience: Audience) async throws -> PageView {
        let isJSON = visit.form["mode"] == "json"
        var form = isJSON ? self.form.jsonForm(visit.form.raw("json")) : self.form.form(visit.form)
        (form.submit, form.isQuiet) = ("Review again", true)
        form.hidden.append(.init(name: "reviewed", value: String(audience.count.devices)))
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
        form.foldedAs = isJSON ? "The JSON" : "The form"
        form.lastGroups = [own]
        let isLater =
            written.recurrence != nil || written.local != nil
            || written.sendAt.map { $0 > visit.services.clock.now } ?? false
        form.others.append(.init(name: "action", value: "test", label: "Send to my device first"))
        if audience.count.isLarge {
            form.lastGroups.append(
                FieldGroup(
                    "Many devices",
                    [
                        .text(
                            "confirm", "The application's name", visit.form["confirm"],
                            hint: "To send this to \(audience.count.words), type: \(application.name)")
                    ]))
        }
        let verb = schedule != nil ? "Save it for" : isLater ? "Schedule it for" : "Send it to"
        form.others.append(
            .init(name: "action", value: "send", label: "\(verb) \(audience.count.words)", isMain: true))
        return page(form, review: sections(written, audience, try await sample(of: audience.content, audience)))
    }

    /// The content as the first device of the audience shows it; with the defaults where there is none.
    private func sample(of content: Push.Content, _ audience: Audience) async throws -> Push.Content {
        guard let device = audience.sample.first,
            let platform = platforms.first(where: { $0.key == device.platformKey })
        else { return try content.filled(with: PersonalizedValues(.init(badge: 1))) }
        return try await visit.services.store.sample(of: content, on: device.key, platform)
    }

    private func sections(_ written: ComposedPush, _ audience: Audience, _ shown: Push.Content) -> [Section] {
        let now = visit.services.clock.now
        let names = Dictionary(uniqueKeysWithValues: platforms.map { ($0.key, $0.name) })
        let before = Section("Before you send") {
            Facts {
                Fact(
                    "Goes to", .badge(audience.count.words, audience.count.devices == 0 ? .warn : .good),
                    .text(written.request.target.words))
                if let local = written.local {
                    Fact("When", .text(local.words))
                } else if let recurrence = written.recurrence {
                    Fact("When", .text(recurrence.words))
                    Fact("Next", next(recurrence, now))
                } else {
                    Fact("When", .time(written.sendAt.flatMap { $0 > now ? $0 : nil }, none: "now"))
                }
                Fact("Counted", .time(now))
                audience.tooLarge.map { Fact("Too large", .badge($0.ofDevices, .warn)) }
            }
            Table(
                "A sample of the devices", ["Device", "Platform", "User", "System"],
                audience.sample.map { device in
                    [
                        [.link(device.label, Address.of(application, "devices", device.uuid.lowercased))],
                        [.text(names[device.platformKey] ?? "")], [.text(device.customUserID ?? "")],
                        [.text([device.about.os, device.about.osVersion].compactMap(\.self).joined(separator: " "))],
                    ]
                }, empty: "No device at present.")
        }
        let previews = Preview.all(
            of: audience.content, shown: shown, on: audience.kinds, for: application.name,
            at: written.sendAt ?? now)
        let whose = audience.sample.first.map { "the values of \($0.label)" } ?? "their defaults"
        let looks = Section(
            "How it looks",
            text: "Drawn from the payload that each provider gets. Fonts and folding differ by device."
                + (audience.content.isPersonal ? " Placeholders have \(whose)." : "")
        ) { Previews(previews) }
        let request = Section("The same by the admin API") { Code("Shell", curl(written.json)) }
        return [before] + (previews.isEmpty ? [] : [looks]) + [request]
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
        form.foldedAs = "The form"
        form.others.append(.init(name: "action", value: "send", label: "Make the geofence", isMain: true))
        let section = Section(
            "Before you make it",
            text: "Devices learn of the geofence, and show its text by themselves when they come or go."
        ) {
            Facts {
                Fact("Where", .text(place.name))
                Fact("When the device", .text(plan.trigger == .enter ? "enters" : "leaves"))
                Fact("Subscribers of", .text(plan.tags.isEmpty ? "anything" : plan.tags.joined(separator: ", ")))
                Fact("From", .time(plan.startsAt == .zero ? nil : plan.startsAt, none: "now"))
                Fact("Until", .time(plan.expiresAt))
            }
            Code("What devices get", JSONValue.object(plan.data.parts).pretty)
        }
        return page(form, review: [section])
    }
}
