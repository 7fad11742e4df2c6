/// One line on the terminal that is written over again and again; where there is no terminal, it keeps silent.
struct ProgressLine {
    func show(_ text: String) { if StandardError.isTerminal { StandardError.rewrite(text) } }

    func end() { show("") }
}
