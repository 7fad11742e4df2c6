import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

extension CampaignPlan {
    /// One message to everyone.
    static func sample() throws -> CampaignPlan {
        try CampaignPlan([
            "message": .object(["body": .string("Hi")]), "target": .object(["everyone": .bool(true)]),
        ])
    }
}

/// The rules of campaigns: shares, their draw, and what is refused.
@Suite struct CampaignPlanTests {
    private static func plan(_ json: String) throws -> CampaignPlan {
        guard case .object(let members) = try JSONValue(json: json.utf8) else { throw InvalidInput.missing("plan") }
        return try CampaignPlan(members)
    }

    private static let rest = #""target":{"everyone":true},"message":{"body":"x"}"#

    @Test func `variants without shares have equal parts`() throws {
        let three = try Self.plan(
            #"{"variants":[{"name":"A"},{"name":"B"},{"name":"C"}],"hold_out":9,\#(Self.rest)}"#)
        #expect(three.variants.map(\.share) == [0..<31, 31..<61, 61..<91])
        #expect(three.rest.isEmpty && three.holdOut == 9)
        let one = try Self.plan("{\(Self.rest)}")
        #expect(one.variants.map(\.share) == [0..<100] && one.variants[0].name.isEmpty)
    }

    @Test func `a winner gets what the shares leave`() throws {
        let plan = try Self.plan(
            #"{"variants":[{"name":"A","share":10},{"name":"B","share":15}],"hold_out":5,"winner":{"after":"PT4H"},\#(Self.rest)}"#
        )
        #expect(plan.rest == 25..<95 && plan.winner?.by == .opened)
    }

    @Test(
        arguments: [
            (#""variants":[]"#, "variants"), (#""variants":[{"share":5}]"#, "variants[0].name"),
            (#""variants":[{"name":"A","share":40},{"name":"B"}]"#, "variants"),
            (#""variants":[{"name":"A","share":40},{"name":"B","share":40}]"#, "variants"),
            (#""variants":[{"name":"A"},{"name":"A"}]"#, "variants[1].name"),
            (#""variants":[{"name":"A","message":{"body":5}}]"#, "variants[0].message.body"),
            (#""variants":[{"name":"A","colour":"red"}]"#, "variants[0].colour"),
            (#""variants":[{"name":"A","template":5}]"#, "variants[0].template"),
            (#""variants":[{"name":"A"},{"name":"B"}],"hold_out":99"#, "hold_out"),
            (#""winner":{"after":"PT4H"}"#, "winner"),
            (#""variants":[{"name":"A"}],"winner":{"after":"PT4H"}"#, "variants"),
            (#""variants":[{"name":"A","share":100}],"winner":{"after":"PT4H"}"#, "variants"),
            (#""variants":[{"name":"A","share":9}],"winner":{"after":"P15D"}"#, "winner.after"),
            (#""variants":[{"name":"A","share":9}],"winner":{"after":"P1D","by":"luck"}"#, "winner.by"),
            (#""hold_out":100"#, "hold_out"), (#""labels":["\#(String(repeating: "x", count: 65))"]"#, "labels[0]"),
            (#""test_target":{"everyone":1}"#, "test_target.everyone"),
            (
                #""variants":[{"name":"A","share":9}],"winner":{"after":"P1D"},"send_at":{"local":"2100-01-01T09:00"}"#,
                "winner"
            ),
        ])
    func `a fault names its field`(members: String, field: String) throws {
        let error = #expect(throws: InvalidInput.self) { try Self.plan("{\(members),\(Self.rest)}") }
        #expect(error?.field.filter { $0 != "'" } == field, "\(String(describing: error))")
    }

    @Test func `a plan needs a message and a target`() throws {
        let noMessage = #expect(throws: InvalidInput.self) { try Self.plan(#"{"target":{"everyone":true}}"#) }
        #expect(noMessage?.field == "message")
        let noTarget = #expect(throws: InvalidInput.self) { try Self.plan(#"{"message":{"body":"x"}}"#) }
        #expect(noTarget?.field == "target")
    }

    @Test func `a stored plan is read without its zone`() throws {
        let members: JSONObject = [
            "message": .object(["body": .string("x")]), "target": .object(["where": .string("segment:a")]),
            "send_at": .object(["local": .string("2100-01-01T09:00"), "time_zone": .string("Europe/Atlantis")]),
        ]
        #expect(throws: InvalidInput.self) { try CampaignPlan(members) }
        let plan = try CampaignPlan(stored: members)
        #expect(plan.expressions == [.term(.segment("a"))])
        #expect(throws: InvalidInput.self) { try plan.body() }
    }

    @Test func `a deep audience leaves room for the share`() throws {
        var deep = #"{"imported":true}"#
        for _ in 0..<7 { deep = #"{"not":\#(deep)}"# }
        let plan = try Self.plan(#"{"message":{"body":"x"},"target":\#(deep),"hold_out":5}"#)
        let target = plan.target(of: 0..<5, try plan.body().pushRequest(channels: nil).target, campaign: "spring")
        #expect(try Target(stored: Array(target.storedText.utf8)) == target)
    }

    @Test func `shares are even, independent and stable`() {
        // Reckoned apart, by a program of another language.
        #expect(AudienceShare.percent(of: "uemma", "spring") == 30)
        #expect(AudienceShare.percent(of: "d1", "spring") == 39)
        var counts = [Int](repeating: 0, count: 100)
        var both = 0
        for number in 0..<100_000 {
            let percent = AudienceShare.percent(of: "d\(number)", "spring")
            counts[percent] += 1
            if percent < 50, AudienceShare.percent(of: "d\(number)", "summer") < 50 { both += 1 }
        }
        // Six standard deviations of the binomial distribution.
        #expect(counts.allSatisfy { abs($0 - 1_000) < 190 }, "\(counts)")
        #expect(abs(both - 25_000) < 830, "\(both)")
    }

    @Test func `the interval of a rate is Wilson's`() throws {
        let schedule = Schedule(
            key: Key(1), applicationKey: Key(1),
            pushRequest: PushRequest(content: Push.Content(body: "x"), target: .everyone), dueAt: .zero,
            createdAt: .zero, version: 1, ending: nil)
        var figures = CampaignFigures(schedule: schedule)
        #expect(figures.interval(of: .opened) == nil)
        figures.add(
            Receipt(
                push: PushHead(
                    key: Key(1), receiptID: UUID(), applicationKey: Key(1), lane: .normal, guarantee: .atLeastOnce,
                    acceptedAt: .zero, expiresAt: nil), isFannedOut: true, counts: [.accepted: 100], settledAt: .zero,
                firstAnswerAt: .zero, parked: []), [Key(1): [.opened: 12]], [.opened: 10])
        let interval = try #require(figures.interval(of: .opened))
        // Reckoned apart, by a program of another language.
        #expect(abs(interval.lowerBound - 0.0552) < 0.0001 && abs(interval.upperBound - 0.1744) < 0.0001, "\(interval)")
    }
}
