import BelfryService
import BelfryTesting
import Testing

@Suite struct CredentialsDoubtTests {
    private static let refused = Outcome.credentialsRefused("revoked")

    /// The verdict on a burst of one batch, each outcome that of another device.
    private func hear(
        _ outcomes: [Outcome], by doubt: inout CredentialsDoubt, isProbe: Bool = false
    ) -> CredentialsDoubt.Verdict {
        var voices = CredentialsVoices()
        for (place, outcome) in outcomes.enumerated() { voices.add(outcome, of: Key(Int64(place + 1)), in: 0) }
        return doubt.hear(voices, isProbe: isProbe)
    }

    private func hear(_ outcomes: [Outcome], isProbe: Bool = false) -> CredentialsDoubt.Verdict {
        var doubt = CredentialsDoubt()
        return hear(outcomes, by: &doubt, isProbe: isProbe)
    }

    @Test(
        arguments: [
            .accepted, .moved(to: DeviceToken(bytes: [1])), .gone(since: nil, said: ProviderWords("410")),
            .refused(.badToken, said: ProviderWords("400 BadDeviceToken")),
        ] as [Outcome])
    func `one admitted device clears the credentials of all`(proof: Outcome) {
        #expect(hear(Array(repeating: Self.refused, count: 99) + [proof]) == .accepted)
    }

    @Test(
        arguments: [.gone(since: nil, said: ProviderWords("404")), .refused(.badToken, said: ProviderWords("400"))]
            as [Outcome])
    func `a token's end proves nothing where acceptance alone does`(outcome: Outcome) {
        var voices = CredentialsVoices(isProvenByAcceptanceAlone: true)
        for device in 1...3 as ClosedRange<Int64> {
            voices.add(device == 1 ? outcome : Self.refused, of: Key(device), in: 0)
        }
        #expect(!voices.isProven)
        voices.add(.accepted, of: Key(4), in: 0)
        #expect(voices.isProven)
    }

    @Test(
        arguments: [
            .failed(retryAfter: nil), .throttled(retryAfter: nil), .unanswered, .refused(.payloadEmpty),
            .refused(.forbidden, said: ProviderWords("403")), .unreachable(ConnectionFault(.timeout, "")),
        ] as [Outcome])
    func `an answer unrelated to credentials proves nothing`(outcome: Outcome) {
        #expect(hear([outcome]) == .unheard)
        #expect(hear([outcome, Self.refused, Self.refused]) == .refused("revoked"))
        #expect(hear([outcome, outcome, outcome, Self.refused, Self.refused]) == .doubtful)
    }

    @Test func `two devices that agree are believed, one is not`() {
        #expect(hear([Self.refused, Self.refused]) == .refused("revoked"))
        #expect(hear([Self.refused]) == .doubtful)
    }

    @Test func `one device with many pushes is one voice`() {
        var voices = CredentialsVoices()
        for batch in 0..<50 { voices.add(Self.refused, of: Key(1), in: batch) }
        var doubt = CredentialsDoubt()
        #expect(doubt.hear(voices) == .doubtful)
    }

    @Test func `a lone refusal counts when repeated without success between`() {
        var doubt = CredentialsDoubt()
        #expect(hear([Self.refused], by: &doubt) == .doubtful)
        #expect(hear([Self.refused], by: &doubt) == .doubtful)
        #expect(hear([.accepted], by: &doubt) == .accepted)
        #expect(hear([Self.refused], by: &doubt) == .doubtful)
        #expect(hear([.failed(retryAfter: nil)], by: &doubt) == .unheard)
        #expect(hear([Self.refused], by: &doubt) == .doubtful)
        #expect(hear([Self.refused], by: &doubt) == .unsure("revoked"))
    }

    @Test(arguments: [(CredentialsVoice.request, 1), (.request, 2), (.shared, 2), (.shared, 9)])
    func `an answer for many devices is one voice per request`(
        voice: CredentialsVoice, batches: Int
    ) {
        var voices = CredentialsVoices()
        for batch in 0..<batches {
            for device in 1...500 as ClosedRange<Int64> {
                voices.add(.credentialsRefused("no", by: voice), of: Key(device), in: batch)
            }
        }
        var doubt = CredentialsDoubt()
        #expect(doubt.hear(voices) == (voice == .request && batches > 1 ? .refused("no") : .doubtful))
    }

    @Test func `an earlier refusal needs no second voice`() {
        #expect(hear([Self.refused], isProbe: true) == .refused("revoked"))
        #expect(hear([Self.refused, .accepted], isProbe: true) == .accepted)
        #expect(hear([.unanswered], isProbe: true) == .unheard)
    }

    @Test func `retry waits double up to a quarter hour`() {
        let waits = (0...7).map { Parking.Probe.wait(after: $0) }
        #expect(waits == [30, 60, 120, 240, 480, 900, 900, 900].map { .seconds($0) })
    }

    @Test func `parked services are read as they were stored`() {
        let now = Instant(milliseconds: 5)
        let services = ["https://a.example", "https://b.example:8443"].reduce(into: [ParkedService]()) {
            $0 = $0.changing($1) { _ in Parking(refused: "403 \"Not\ttoday\"", at: now).refused("a\nb", at: now) }
        }
        let stored = [ParkedService](stored: services.storedText ?? "")
        #expect(stored.map(\.origin) == services.map(\.origin))
        #expect(stored.map(\.parking.detail) == ["a?b", "a?b"])
        #expect(stored.map(\.parking.probe) == services.map(\.parking.probe))
        #expect([ParkedService](stored: "nonsense\n\n1\t2").isEmpty)
        #expect([ParkedService]().storedText == nil)
    }

    @Test func `no more services are parked than are shown`() {
        let services = (0..<99).reduce(into: [ParkedService]()) { services, number in
            services = services.changing("https://\(number).example") { _ in Parking(refused: "no", at: .zero) }
        }
        #expect(services.count == ParkedService.countMax)
    }
}
