import FoundationEssentials

/// A named thing that owns pushes: a message or up to four variants of it, an audience, times, and one report.
///
/// Each variant is a schedule that goes to its share of the audience, so a campaign has the exactness of schedules.
package struct Campaign: Sendable, Hashable {
    package let key: Key<Campaign>
    package let applicationKey: Key<Application>
    package let name: String
    package let plan: CampaignPlan
    /// Raised by each change of the plan.
    package let version: Int64
    /// The last editor.
    package let maker: CampaignPerson
    package let createdAt: Instant
    package let updatedAt: Instant
    package let approval: Approval?
    package let startedAt: Instant?
    package let stoppedAt: Instant?
    /// The place of the variant that the rest of the audience gets; nil until it is known.
    package let winner: Int?

    package struct Approval: Sendable, Hashable {
        package let by: String
        package let at: Instant
        /// The digest of its messages and audiences then; nil where an earlier version took the approval.
        let digest: String?
    }

    package static let nameBytesMax = 100
    /// The most campaigns of one application.
    package static let countMax = 500

    package enum State: String, Sendable {
        case draft, running, stopped

        /// Running once it was started, whether or not pushes are still to come.
        init(startedAt: Instant?, stoppedAt: Instant?) {
            self = stoppedAt != nil ? .stopped : startedAt != nil ? .running : .draft
        }
    }

    package var state: State { State(startedAt: startedAt, stoppedAt: stoppedAt) }

    package static func checked(name: String, field: String = "name") throws(InvalidInput) -> String {
        try name.asName(field: field, bytesMax: nameBytesMax)
    }
}

/// A campaign in a list, without its plan.
package struct CampaignEntry: Sendable, Hashable {
    package let name: String
    package let labels: [String]
    package let variants: Int
    package let version: Int64
    package let maker: String
    package let approver: String?
    package let createdAt: Instant
    package let startedAt: Instant?
    package let stoppedAt: Instant?

    package var state: Campaign.State { Campaign.State(startedAt: startedAt, stoppedAt: stoppedAt) }
}

/// A person or a key, as far as it matters whether two are one.
package struct CampaignPerson: Sendable, Hashable {
    /// The e-mail address of a person, the id of a key, or the system user of a command.
    package let name: String
    /// The person, or the one who made the key.
    let person: Int64?

    init(name: String, person: Int64?) { (self.name, self.person) = (name, person) }

    package init(_ author: AuditAuthor) {
        self.init(name: author.keyID ?? author.address ?? "", person: author.person?.rawValue)
    }

    /// Whether both are one person, as far as is known: a key is its maker.
    func isSame(as other: CampaignPerson) -> Bool {
        name == other.name || person != nil && person == other.person
    }
}

/// A schedule of a campaign: a variant, or the winner for the rest.
package struct CampaignPart: Sendable, Hashable {
    /// The place of the variant; `winnerPlace` for the rest.
    package let place: Int
    package let schedule: Key<Schedule>

    package static let winnerPlace = CampaignPlan.variantsMax
}

/// The messages, audience and times of a campaign: the members of its request, checked.
package struct CampaignPlan: Sendable, Hashable {
    /// As the request has them, without the name.
    package let members: JSONObject
    package let labels: [String]
    /// One without a name where there are no variants.
    package let variants: [Variant]
    /// The part of the audience that gets nothing, in percent.
    package let holdOut: Int
    package let winner: Winner?
    /// The audience of tests; nil for none.
    package let testTarget: Target?

    package struct Variant: Sendable, Hashable {
        package let name: String
        /// In percent of the audience; not empty.
        package let share: Range<Int>
        /// In the place of the campaign's own fields; nil for none.
        let content: Push.Content?
    }

    /// The choice of the variant that the rest of the audience gets.
    package struct Winner: Sendable, Hashable {
        /// The report whose share of the devices decides.
        package let by: PushReport
        /// The time from the variants to the choice.
        package let after: TimeSpan
    }

    package static let variantsMax = 4
    package static let labelsMax = 16
    package static let labelBytesMax = 64
    /// The most that the plan has as it is stored.
    package static let bytesMax = 1 << 18
    /// A schedule's content, of which the winner is made, is kept longer than this.
    static let winnerAfterMax = Duration.seconds(14 * 86_400)

    static let fields = ["labels", "variants", "hold_out", "winner", "test_target"] + Admin.PushBody.fields

    /// The share that the winner gets.
    package var rest: Range<Int> { (variants.last?.share.upperBound ?? 0)..<(100 - holdOut) }
}

extension CampaignPlan {
    /// Reads the members of a request.
    ///
    /// - Parameter members: a null counts as missing.
    package init(_ members: JSONObject) throws(InvalidInput) {
        var kept: JSONObject = [:]
        for (name, value) in members where !value.isNull { kept[name] = value }
        try self.init(stored: kept)
        try checkPush()
        try JSONValue.object(kept).checkStored("plan", bytesMax: Self.bytesMax)
    }

    /// Reads the stored members. This system may not know their time zone any more, which `body` finds.
    init(stored members: JSONObject) throws(InvalidInput) {
        self.members = members
        labels = try Self.labels(members["labels"])
        holdOut = try Self.percent(members["hold_out"], "hold_out", 0...99) ?? 0
        winner = try members["winner"].map { (value) throws(InvalidInput) in try Winner(value) }
        variants = try Self.variants(members["variants"], holdOut: holdOut, hasWinner: winner != nil)
        testTarget = try members["test_target"].map { (value) throws(InvalidInput) in
            var reader = JSONReader(Array(value.storedText.utf8))
            return try Admin.TargetBody("test_target", from: &reader).checked(channels: nil)
        }
    }

    /// The request of its pushes, without what is the campaign's own.
    func body(without others: [String] = []) throws(InvalidInput) -> Admin.PushBody {
        var body = Admin.PushBody()
        for (name, value) in members where Admin.PushBody.fields.contains(name) && !others.contains(name) {
            var reader = JSONReader(Array(value.storedText.utf8))
            try body.read(name, from: &reader)
        }
        return body
    }

    private func checkPush() throws(InvalidInput) {
        let body = try body()
        guard body.channels == nil else {
            throw InvalidInput(field: "target.channels", "have subscribers that only Apple knows: send a push to them")
        }
        guard !body.isConditional else {
            throw InvalidInput(field: "unless_sent", "is for pushes that are scheduled by themselves")
        }
        let content = try body.content()
        guard content != nil || variants.allSatisfy({ $0.content != nil }) else {
            throw InvalidInput.missing("message")
        }
        _ = try body.pushRequest(or: Push.Content())
        guard winner == nil || body.recurrence == nil && body.local == nil else {
            throw InvalidInput(
                field: "winner", "goes with one time: leave \(body.local == nil ? "recurrence" : "the local time") out")
        }
    }

    /// The templates that it names.
    var templates: [String] {
        ([try? body(without: Self.times).content()] + variants.map(\.content)).compactMap { $0?.template?.name }
    }

    /// Its targets as expressions.
    var expressions: [AudienceExpression] {
        let target = try? body(without: Self.times).pushRequest(or: Push.Content()).target
        return [target, testTarget].compactMap { $0?.asExpression }
    }

    private static let times = ["send_at", "recurrence"]

    /// The part of a target.
    func target(of share: Range<Int>, _ target: Target, campaign: String) -> Target {
        guard share != 0..<100 else { return target }
        let term = AudienceExpression.term(
            .share(AudienceShare(seed: "campaign \(campaign)", from: share.lowerBound, to: share.upperBound)))
        let whole = target.asExpression
        let expression: AudienceExpression =
            if case .all(let parts) = whole { .all(parts + [term]) } else { .all([whole, term]) }
        return Target(expression, isInteractiveOnly: target.isInteractiveOnly, fixesSegments: target.fixesSegments)
    }

    // MARK: Parts of the request

    private static func labels(_ value: JSONValue?) throws(InvalidInput) -> [String] {
        guard let value else { return [] }
        let labels = try value.strings("labels").enumerated().map { (index, text) throws(InvalidInput) in
            try text.asName(field: "labels[\(index)]", bytesMax: labelBytesMax)
        }
        guard labels.count <= labelsMax else {
            throw InvalidInput(field: "labels", "has \(labels.count) labels, the limit is \(labelsMax)")
        }
        return labels.withoutRepeats
    }

    private static func percent(
        _ value: JSONValue?, _ field: String, _ range: ClosedRange<Int>
    ) throws(InvalidInput) -> Int? {
        guard let value else { return nil }
        guard let number = value.wholeNumber, let percent = Int(exactly: number), range ~= percent else {
            throw InvalidInput(field: field, "has to be from \(range.lowerBound) to \(range.upperBound) percent")
        }
        return percent
    }

    private static func variants(
        _ value: JSONValue?, holdOut: Int, hasWinner: Bool
    ) throws(InvalidInput) -> [Variant] {
        guard let value else {
            guard !hasWinner else { throw InvalidInput(field: "winner", "needs variants") }
            return [Variant(name: "", share: 0..<(100 - holdOut), content: nil)]
        }
        guard case .array(let elements) = value, 1...variantsMax ~= elements.count else {
            throw InvalidInput(field: "variants", "has to be an array of 1 to \(variantsMax) variants")
        }
        var (drafts, given): ([(name: String, share: Int?, content: Push.Content?)], [Int]) = ([], [])
        for (index, element) in elements.enumerated() {
            let draft = try variant(element, "variants[\(index)]")
            guard !drafts.contains(where: { $0.name == draft.name }) else {
                throw InvalidInput(field: "variants[\(index)].name", "is the name of two variants")
            }
            drafts.append(draft)
            if let share = draft.share { given.append(share) }
        }
        guard given.isEmpty || given.count == drafts.count else {
            throw InvalidInput(field: "variants", "have shares in part: give each one its share, or none")
        }
        guard !hasWinner || !given.isEmpty else {
            throw InvalidInput(field: "variants", "need shares, so that a rest is left for the winner")
        }
        // Without shares they have equal parts; the first ones get what is left over.
        let (whole, count) = (100 - holdOut, drafts.count)
        let shares = given.isEmpty ? (0..<count).map { whole / count + ($0 < whole % count ? 1 : 0) } : given
        let sum = shares.reduce(0, +)
        guard whole >= count else {
            throw InvalidInput(field: "hold_out", "leaves \(whole) percent, the \(count) variants need one each")
        }
        guard hasWinner ? sum < whole : sum == whole else {
            let meant = hasWinner ? "less than \(whole), so that a rest is left for the winner" : "\(whole)"
            throw InvalidInput(field: "variants", "have shares of \(sum) percent together, it has to be \(meant)")
        }
        var first = 0
        return zip(drafts, shares).map { draft, share in
            defer { first += share }
            return Variant(name: draft.name, share: first..<(first + share), content: draft.content)
        }
    }

    private static func variant(
        _ value: JSONValue, _ field: String
    ) throws(InvalidInput) -> (name: String, share: Int?, content: Push.Content?) {
        let members = try value.members(field, of: ["name", "share", "message", "template"])
        guard let text = members["name"]?.stringValue else { throw InvalidInput.missing("\(field).name") }
        let name = try text.asName(field: "\(field).name", bytesMax: labelBytesMax)
        var content: Push.Content?
        if let message = members["message"], !message.isNull {
            var reader = JSONReader(Array(message.storedText.utf8))
            do throws(InvalidInput) {
                content = try Admin.PushBody.content("message", from: &reader)
            } catch { throw InvalidInput(field: "\(field).\(error.field)", error.problem) }
        }
        if let value = members["template"], !value.isNull {
            let template = try value.demandText("\(field).template")
            var own = content ?? Push.Content()
            own.template = try TemplateReference(template, field: "\(field).template")
            content = own
        }
        return (name, try percent(members["share"], "\(field).share", 1...100), content)
    }
}

extension CampaignPlan.Winner {
    fileprivate init(_ value: JSONValue) throws(InvalidInput) {
        let members = try value.members("winner", of: ["by", "after"])
        guard let by = PushReport(rawValue: members["by"]?.stringValue ?? PushReport.opened.rawValue) else {
            throw InvalidInput(field: "winner.by", "has to be opened or received")
        }
        guard let text = members["after"]?.stringValue else { throw InvalidInput.missing("winner.after") }
        let after = try TimeSpan(text, field: "winner.after")
        guard after.milliseconds <= CampaignPlan.winnerAfterMax.milliseconds else {
            throw InvalidInput(field: "winner.after", "is \(text), the limit is P14D")
        }
        self.init(by: by, after: after)
    }
}
