import FoundationEssentials

// The pages on which a push that was sent is updated or retracted.

extension PushPages {
    var followUpRoutes: [PageRoute] {
        [
            make.receipt(.get, "/update", .send, askToUpdate), make.receipt(.post, "/update", .send, update),
            make.receipt(.get, "/retract", .send, askToRetract), make.receipt(.post, "/retract", .send, retract),
        ]
    }

    /// Links to these pages; none for a retraction.
    static func followUpLinks(_ request: PushRequest?, _ address: String) -> [Link] {
        guard let request, request.content.follows?.isRetraction != true else { return [] }
        return [Link("Update", "\(address)/update"), Link("Retract", "\(address)/retract")]
    }

    /// Links to the push that it follows, and to those that follow it.
    static func facts(following details: PushDetails, _ application: Application) -> [Fact] {
        func link(_ receiptID: UUID) -> Value {
            .link(receiptID.lowercased, Address.of(application, "pushes", receiptID.lowercased))
        }
        let followed = details.request?.content.follows.map {
            Fact($0.isRetraction ? "Retracts" : $0.isReminder ? "Reminds of" : "Updates", [link($0.receiptID)])
        }
        return [followed].compactMap(\.self)
            + details.followUps.map {
                Fact(
                    $0.isRetraction ? "Retracted by" : $0.isReminder ? "Reminded by" : "Updated by",
                    [link($0.receiptID)])
            }
    }

    // MARK: Updating

    @Sendable private func askToUpdate(
        _ visit: DashboardRequest, _ receipt: Receipt, _ application: Application
    ) async throws -> PageAnswer {
        let request = try await visit.request(of: receipt)
        return .page(Self.updatePage(Self.updateForm(receipt, request, application), receipt, request, application))
    }

    private static func updateForm(_ receipt: Receipt, _ request: PushRequest?, _ application: Application) -> Form {
        let content = request?.content
        return Form(
            "\(receipt.push.address(in: application))/update", "Send the update",
            [
                .text("title", "Title", content?.shared.title ?? ""),
                .area("body", "Text", content?.body ?? "", isRequired: true),
            ])
    }

    private static func updatePage(
        _ form: Form, _ receipt: Receipt, _ request: PushRequest?, _ application: Application
    ) -> PageView {
        var page = page("Update", receipt, request, application)
        page.sections = [
            Section(
                text:
                    "A push with these texts takes the place of the first on the devices that it went to: on Apple\u{2019}s devices, on "
                    + "Android by Firebase and in browsers, and by a collapse key on Huawei and Windows. All else of the message stays, also "
                    + "what it says for single platforms. It makes a sound as the first did."
            ) { form }
        ]
        return page
    }

    @Sendable private func update(
        _ visit: DashboardRequest, _ receipt: Receipt, _ application: Application
    ) async throws -> PageAnswer {
        let request = try await visit.request(of: receipt)
        return try await visit.trying(
            Self.updateForm(receipt, request, application), names: ["message": "body", "message.title": "title"],
            on: { Self.updatePage($0, receipt, request, application) }
        ) {
            guard let request else { throw StoreError.conflict("the message of the push is kept no longer") }
            guard !visit.form["body"].isEmpty else { throw InvalidInput(field: "body", "is missing") }
            var changed = request
            changed.content = try request.content.saying(title: visit.form["title"], body: visit.form["body"])
            let following = try await visit.services.pushes.update(
                receipt, by: changed, of: application, by: visit.author)
            let sent = following.push?.receiptID ?? receipt.push.receiptID
            return .redirect(
                Address.query(Address.of(application, "pushes", sent.lowercased), [("done", "sent")]))
        }
    }

    // MARK: Retracting

    @Sendable private func askToRetract(
        _ visit: DashboardRequest, _ receipt: Receipt, _ application: Application
    ) async throws -> PageAnswer {
        .page(
            Self.retractPage(
                Self.retractForm(receipt, application), receipt, try await visit.request(of: receipt), application))
    }

    private static func retractForm(_ receipt: Receipt, _ application: Application) -> Form {
        Form("\(receipt.push.address(in: application))/retract", "Retract it", isDanger: true)
    }

    private static func retractPage(
        _ form: Form, _ receipt: Receipt, _ request: PushRequest?, _ application: Application
    ) -> PageView {
        var page = page("Retract", receipt, request, application)
        page.sections = [
            Section(
                text:
                    "What has not left is cancelled. Devices that it went to are told to remove it, without a sound: Apple\u{2019}s devices, "
                    + "Android by Firebase, and browsers, where the app has the SDK or does what docs/Pushing.md says. People who have read it keep what they read."
            ) {
                Facts {
                    Fact("Target", .text(request?.target.words ?? "not known"))
                    Fact("Accepted by providers", .number(receipt.count(.accepted)))
                    Fact("Waiting", .number(receipt.count(.pending)))
                }
                form
                ButtonRow([Link("Do not retract", receipt.push.address(in: application))])
            }
        ]
        return page
    }

    @Sendable private func retract(
        _ visit: DashboardRequest, _ receipt: Receipt, _ application: Application
    ) async throws -> PageAnswer {
        let request = try await visit.request(of: receipt)
        return try await visit.trying(
            Self.retractForm(receipt, application),
            on: { Self.retractPage($0, receipt, request, application) }
        ) {
            let following = try await visit.services.pushes.retract(receipt, of: application, by: visit.author)
            let done = following.push == nil ? "cancelled" : "retracted"
            return .redirect(Address.query(receipt.push.address(in: application), [("done", done)]))
        }
    }

    private static func page(
        _ title: String, _ receipt: Receipt, _ request: PushRequest?, _ application: Application
    ) -> PageView {
        var page = PageView(title)
        page.crumbs = [
            Link(application.name, Address.of(application)), Link("Pushes", Address.of(application, "pushes")),
            Link(request?.content.summary ?? "Push", receipt.push.address(in: application)),
        ]
        return page
    }
}

extension Push.Content {
    /// The message with other texts. Their translations go with the texts that change.
    fileprivate func saying(title: String, body: String) throws(InvalidInput) -> Push.Content {
        var texts = Push.Content()
        if body != self.body?.replacing("\r\n", with: "\n").trimmed { texts.body = body }
        if title != shared.title?.trimmed ?? "" {
            guard !title.isEmpty else { throw InvalidInput(field: "title", "is missing: an update removes no title") }
            texts.shared = SharedFields([.title: title])
        }
        texts.pacing = pacing
        return try texts.over(self)
    }
}
