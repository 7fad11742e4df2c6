/// The numbers by which pushes are compared.
struct PushFigures: Sendable {
    let push: PushHead
    let summary: String
    let devices: Int
    let accepted: Int
    let failed: Int
    let received: Int
    let opened: Int
    /// Devices whose message went to a provider.
    private let sent: Int
    private let isWhole: Bool

    init(
        _ receipt: Receipt, _ events: [Key<Platform>: AnalyticsCounts], _ noted: [PushReport: Int],
        _ summaries: [Key<Push>: String]
    ) {
        push = receipt.push
        summary = summaries[receipt.push.key] ?? "[damaged]"
        devices = receipt.devices
        accepted = receipt.count(.accepted)
        failed = receipt.count(.failed)
        sent = [.accepted, .refused, .gone, .unknown].reduce(0) { $0 + receipt.count($1) }
        received = receipt.reporters(.received, events, noted)
        opened = receipt.reporters(.opened, events, noted)
        isWhole = receipt.isFannedOut
    }

    /// Accepted, not delivered, received and opened.
    var shares: [String] {
        [accepted, failed, received].map { $0.share(of: devices) } + [opened.share(of: accepted)]
    }

    var steps: [Funnel.Step] {
        [
            .init("Audience", devices, isWhole ? "Devices that the target means." : "Devices found so far."),
            .init("Sent", sent, "Their message went to the provider."),
            .init("Accepted", accepted, "The provider took it, and delivers it when the device can be reached."),
            .init("Received", received, "Their app reported that it arrived. Apps without the SDK report nothing."),
            .init("Opened", opened, "Their app reported that a person opened it."),
        ]
    }
}

/// Steps that fewer and fewer devices take, each with its share of the first.
struct Funnel: Component {
    private let steps: [Step]

    struct Step: Sendable {
        let title: String
        let devices: Int
        let text: String

        init(_ title: String, _ devices: Int, _ text: String) {
            (self.title, self.devices, self.text) = (title, devices, text)
        }
    }

    init(_ steps: [Step]) { self.steps = steps }

    var content: [any HTML] {
        let whole = steps.first?.devices ?? 0
        Tag("ol", ["class": "funnel"]) {
            for (number, step) in steps.enumerated() {
                Tag("li") {
                    Tag("b", step.title)
                    " \(step.devices.grouped)"
                    if number > 0, whole > 0 {
                        " · \(step.devices.share(of: whole))"
                        if number > 1 { " · \(step.devices.share(of: steps[number - 1].devices)) of the step before" }
                    }
                    Tag(
                        "meter",
                        ["aria-label": step.title, "min": 0, "max": max(whole, 1), "value": min(step.devices, whole)])
                    Tag("small", step.text)
                }
            }
        }
    }
}

extension Receipt {
    /// The devices that reported, however often. Where none is noted it is the reports: subscribers of a provider's topics and channels are no
    /// devices of the push, and answers are deleted some day.
    ///
    /// - Parameter noted: the devices that are noted. With reminders, who opens is noted for all devices of the user.
    func reporters(
        _ report: PushReport, _ events: [Key<Platform>: AnalyticsCounts], _ noted: [PushReport: Int]
    ) -> Int {
        let sum = events.values.reduce(0) { $0 + Int($1[report.kind] ?? 0) }
        return min(sum, noted[report] ?? sum)
    }

    /// The answers of devices that did not get it, the most frequent first.
    var causes: [(answer: Answer, devices: Int)] {
        counts.filter { Answer.Kind.failed.includes($0.key) && $0.value > 0 }
            .sorted { ($1.value, $0.key.code) < ($0.value, $1.key.code) }.map { ($0.key, $0.value) }
    }
}

extension Int {
    /// Such as "12.5 %"; a dash of nothing.
    func share(of whole: Int) -> String {
        guard whole > 0 else { return "—" }
        let thousandths = (Double(self) * 1_000 / Double(whole)).rounded()
        guard thousandths > 0 || self == 0 else { return "< 0.1 %" }
        guard thousandths < 1_000 || self >= whole else { return "> 99.9 %" }
        let (percent, rest) = Int(thousandths).quotientAndRemainder(dividingBy: 10)
        return rest == 0 ? "\(percent) %" : "\(percent).\(rest) %"
    }
}
