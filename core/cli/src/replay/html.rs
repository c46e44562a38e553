//! The report as one page that any browser shows: no scripts, nothing to fetch. It is well-formed XML too.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use relic_systems::{
    frame::picture::{Picture, encode_png},
    scene::{Outcome, WrongPictures},
};

use super::report::{Frames, SceneReport};

const STYLE: &str = "
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 62em; padding: 0 1em; color: #222; background: #fff }
h1 { font-size: 1.5em } h2 { font-size: 1.2em; margin-top: 2em; border-top: 1px solid #ccc; padding-top: 1em } h3 { font-size: 1em; margin-bottom: .3em }
table { border-collapse: collapse } td, th { padding: .15em .9em .15em 0; text-align: left; vertical-align: top } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
.ok { color: #176b2c } .bad { color: #a3201f; font-weight: 600 } pre { white-space: pre-wrap; background: #f5f5f5; padding: .6em }
svg { background: #fafafa; border: 1px solid #ddd } svg text { font: 11px system-ui, sans-serif; fill: #444 }
.pictures { display: flex; gap: 1em; flex-wrap: wrap } .pictures figure { margin: 0 } .pictures img { max-width: 19em; min-width: 8em; image-rendering: pixelated; border: 1px solid #ddd }
figcaption { color: #555; font-size: .9em }
";

/// The page.
pub fn page(scenes: &[(SceneReport, Vec<Outcome>)]) -> String {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\" /><title>Relic: replayed scenes</title><style>{STYLE}</style></head>\n<body>\n<h1>Replayed scenes</h1>\n"
    );
    let failed = scenes.iter().filter(|(report, _)| !report.passes).count();
    let _ = writeln!(page, "<p>{} of {} pass.</p>", scenes.len() - failed, scenes.len());
    for (report, outcomes) in scenes {
        scene(&mut page, report, outcomes);
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn scene(page: &mut String, report: &SceneReport, outcomes: &[Outcome]) {
    let (class, word) = if report.passes {
        ("ok", "passes")
    } else {
        ("bad", "fails")
    };
    let _ = writeln!(
        page,
        "<h2>{} <span class=\"{class}\">{word}</span></h2>",
        escape(&report.file)
    );
    if let Some(error) = &report.error {
        let _ = writeln!(page, "<pre>{}</pre>", escape(error));
    }
    for (what, lines) in [
        ("Refused", &report.faults),
        ("Still waiting", &report.waiting),
        ("Validation layer", &report.validation),
    ] {
        if !lines.is_empty() {
            let _ = writeln!(
                page,
                "<h3>{what}</h3><pre class=\"bad\">{}</pre>",
                escape(&lines.join("\n"))
            );
        }
    }
    timing(page, report);
    if !report.expectations.is_empty() {
        page.push_str(
            "<h3>Results</h3>\n<table><tr><th class=\"n\">frame</th><th>what</th><th></th><th></th></tr>\n",
        );
        for expectation in &report.expectations {
            let (class, word) = if expectation.passes {
                ("ok", "ok")
            } else {
                ("bad", "wrong")
            };
            let _ = writeln!(
                page,
                "<tr><td class=\"n\">{}</td><td>{}</td><td class=\"{class}\">{word}</td><td>{}</td></tr>",
                expectation.frame,
                escape(&expectation.name),
                escape(&expectation.result)
            );
        }
        page.push_str("</table>\n");
    }
    for outcome in outcomes {
        if let Some(pictures) = &outcome.pictures {
            images(page, outcome, pictures);
        }
    }
    counters(page, report);
}

/// Frames, systems and memory, as numbers and plots.
fn timing(page: &mut String, report: &SceneReport) {
    if let Some(loops) = &report.loops {
        let _ = writeln!(
            page,
            "<p>{} loops up to {}, of {} draws and {} dispatches: <b>{:.2} µs</b> of CPU time a draw or dispatch.</p>",
            loops.loops,
            escape(&loops.until),
            loops.draws,
            loops.dispatches,
            loops.per_row()
        );
        if let Some(line) = loops.beside_native() {
            let _ = writeln!(page, "<p>{}.</p>", escape(&line));
        }
        frames(page, "Frames, warm", &loops.frames);
    }
    frames(page, "Frames of the script, cold", &report.cold);
    let total: u64 = report.times.iter().map(|time| time.nanoseconds).sum();
    if total > 0 {
        let rows = report
            .loops
            .as_ref()
            .map(|loops| loops.rows() * loops.loops as f64);
        page.push_str("<h3>Systems</h3>\n<table><tr><th>system</th><th class=\"n\">runs</th><th class=\"n\">ms</th><th class=\"n\">µs a row</th><th>share</th></tr>\n");
        for time in &report.times {
            let share = time.nanoseconds as f64 / total as f64;
            let row = rows.map_or(String::new(), |rows| {
                format!("{:.3}", time.nanoseconds as f64 / 1e3 / rows)
            });
            let _ = writeln!(
                page,
                "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{:.3}</td><td class=\"n\">{row}</td><td><svg width=\"220\" height=\"12\"><rect width=\"{:.1}\" height=\"12\" fill=\"#3b6ea5\" /></svg> {:.1} %</td></tr>",
                escape(&time.system),
                time.runs,
                time.nanoseconds as f64 / 1e6,
                220.0 * share,
                100.0 * share
            );
        }
        page.push_str("</table>\n");
    }
    if let Some(loops) = report.loops.as_ref().filter(|loops| loops.resident.len() > 1) {
        page.push_str("<h3>Resident memory over the loops</h3>\n");
        let points = loops
            .resident
            .iter()
            .map(|(at, bytes)| (f64::from(*at), *bytes as f64 / f64::from(1 << 20)));
        plot(page, &[("MiB", "#3b6ea5", points.collect())]);
    }
}

fn frames(page: &mut String, what: &str, frames: &Frames) {
    if frames.all.is_empty() {
        return;
    }
    let _ = writeln!(
        page,
        "<h3>{what}</h3>\n<table><tr><th></th><th class=\"n\">p50</th><th class=\"n\">p90</th><th class=\"n\">p99</th><th class=\"n\">most</th></tr>"
    );
    for (name, spread) in [("frame, ms", &frames.frame_ms), ("CPU, ms", &frames.cpu_ms)] {
        let _ = writeln!(
            page,
            "<tr><td>{name}</td><td class=\"n\">{:.3}</td><td class=\"n\">{:.3}</td><td class=\"n\">{:.3}</td><td class=\"n\">{:.3}</td></tr>",
            spread.p50, spread.p90, spread.p99, spread.max
        );
    }
    page.push_str("</table>\n");
    if frames.all.len() > 1 {
        let line = |part: fn(&(f64, f64)) -> f64| -> Vec<(f64, f64)> {
            let values = frames.all.iter().map(part).enumerate();
            values.map(|(at, value)| (at as f64, value)).collect()
        };
        plot(
            page,
            &[
                ("frame, ms", "#b4652b", line(|frame| frame.0)),
                ("CPU, ms", "#3b6ea5", line(|frame| frame.1)),
            ],
        );
    }
}

/// A plot's size without its margins, in pixels.
const PLOT: (f64, f64) = (760.0, 160.0);

/// Lines over a common axis from 0 up: name, colour, points in the order of x.
fn plot(page: &mut String, lines: &[(&str, &str, Vec<(f64, f64)>)]) {
    let points = || lines.iter().flat_map(|(_, _, points)| points);
    let top = points().map(|(_, y)| *y).fold(0.0, f64::max).max(1e-9) * 1.05;
    let (first, last) = points().fold((f64::MAX, f64::MIN), |(first, last), (x, _)| {
        (first.min(*x), last.max(*x))
    });
    let width = (last - first).max(1e-9);
    let _ = write!(
        page,
        "<svg width=\"{:.0}\" height=\"{:.0}\" role=\"img\"><text x=\"4\" y=\"14\">{top:.3}</text><text x=\"4\" y=\"{:.0}\">0</text>",
        PLOT.0 + 70.0,
        PLOT.1 + 30.0,
        PLOT.1 + 8.0
    );
    for (i, (name, colour, points)) in lines.iter().enumerate() {
        let path: Vec<String> = points
            .iter()
            .map(|(x, y)| {
                format!(
                    "{:.1},{:.1}",
                    60.0 + (x - first) / width * PLOT.0,
                    4.0 + (1.0 - y / top) * PLOT.1
                )
            })
            .collect();
        let _ = write!(
            page,
            "<polyline fill=\"none\" stroke=\"{colour}\" points=\"{}\" /><text x=\"{}\" y=\"{:.0}\" style=\"fill:{colour}\">{}</text>",
            path.join(" "),
            64 + 120 * i,
            PLOT.1 + 24.0,
            escape(name)
        );
    }
    page.push_str("</svg>\n");
}

fn images(page: &mut String, outcome: &Outcome, pictures: &WrongPictures) {
    let _ = writeln!(
        page,
        "<h3>Frame {}: {}</h3><div class=\"pictures\">",
        outcome.frame,
        escape(&outcome.name)
    );
    for (what, picture) in [
        ("expected", &pictures.expected),
        ("got", &pictures.got),
        ("difference, four times", &pictures.difference),
    ] {
        if outcome.passes() && what != "got" {
            continue;
        }
        let _ = writeln!(
            page,
            "<figure><img alt=\"{what}\" width=\"{}\" src=\"data:image/png;base64,{}\" /><figcaption>{what}</figcaption></figure>",
            picture.width,
            png(picture)
        );
    }
    page.push_str("</div>\n");
}

fn png(picture: &Picture) -> String {
    // A picture's size fits its bytes, so that encoding into memory has nothing to fail with.
    STANDARD.encode(encode_png(picture).unwrap_or_default())
}

fn counters(page: &mut String, report: &SceneReport) {
    if report.counters.is_empty() {
        return;
    }
    page.push_str(
        "<h3>Counters</h3>\n<table><tr><th></th><th class=\"n\">all</th><th class=\"n\">a loop</th></tr>\n",
    );
    for (name, count) in &report.counters {
        let a_loop = report
            .loops
            .iter()
            .flat_map(|loops| &loops.counters)
            .find(|(own, _)| own == name)
            .map_or(String::new(), |(_, count)| count.to_string());
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td class=\"n\">{count}</td><td class=\"n\">{a_loop}</td></tr>",
            escape(&name.replace('_', " "))
        );
    }
    page.push_str("</table>\n");
}

/// Text for elements and attributes. Control characters, which no page may hold, show as a replacement.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() => escaped.push('\u{FFFD}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_t_break_the_page() {
        assert_eq!(
            escape("<a href=\"x\">&\u{1}\n"),
            "&lt;a href=&quot;x&quot;&gt;&amp;\u{FFFD}\n"
        );
        let report = SceneReport {
            file: "<script>".to_owned(),
            faults: vec!["</pre>".to_owned()],
            ..SceneReport::default()
        };
        let page = page(&[(report, Vec::new())]);
        assert!(!page.contains("<script>"));
        assert_eq!(page.matches("</pre>").count(), 1);
    }
}
